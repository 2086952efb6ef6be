"""Starts ``maestro-env explain``."""

from experiments import cli

cli.start("explain")
