"""Starts ``maestro-env report``."""

from experiments import cli

cli.start("report")
