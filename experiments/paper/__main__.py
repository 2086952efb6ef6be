"""Starts ``maestro-env paper``."""

from experiments import cli

cli.start("paper")
