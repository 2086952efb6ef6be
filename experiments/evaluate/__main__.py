"""Starts ``maestro-env evaluate``."""

from experiments import cli

cli.start("evaluate")
