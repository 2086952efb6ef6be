"""Starts ``maestro-env validation``."""

from experiments.shell import cli

cli.start("validation")
