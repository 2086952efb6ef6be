"""Starts ``maestro-env report``."""

from experiments.shell import cli

cli.start("report")
