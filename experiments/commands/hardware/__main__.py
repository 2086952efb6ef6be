"""Starts ``maestro-env hardware``."""

from experiments.shell import cli

cli.start("hardware")
