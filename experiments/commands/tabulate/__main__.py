"""Starts ``maestro-env tabulate``."""

from experiments.shell import cli

cli.start("tabulate")
