"""Starts ``maestro-env completion``."""

from experiments.shell import cli

cli.start("completion")
