"""Starts ``maestro-env hardware``."""

from experiments import cli

cli.start("hardware")
