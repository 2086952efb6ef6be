"""Starts ``maestro-env completion``."""

from experiments import cli

cli.start("completion")
