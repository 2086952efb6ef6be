"""Starts ``maestro-env paper``."""

from experiments.shell import cli

cli.start("paper")
