"""Starts ``maestro-env validation``."""

from experiments import cli

cli.start("validation")
