"""Starts ``maestro-env warm``."""

from experiments import cli

cli.start("warm")
