"""Starts ``maestro-env bench``."""

from experiments.shell import cli

cli.start("bench")
