"""Starts ``maestro-env compare``."""

from experiments.shell import cli

cli.start("compare")
