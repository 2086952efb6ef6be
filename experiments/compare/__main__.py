"""Starts ``maestro-env compare``."""

from experiments import cli

cli.start("compare")
