"""Starts ``maestro-env explain``."""

from experiments.shell import cli

cli.start("explain")
