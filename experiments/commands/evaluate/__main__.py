"""Starts ``maestro-env evaluate``."""

from experiments.shell import cli

cli.start("evaluate")
