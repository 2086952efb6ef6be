"""Starts ``maestro-env warm``."""

from experiments.shell import cli

cli.start("warm")
