"""Starts ``maestro-env tabulate``."""

from experiments import cli

cli.start("tabulate")
