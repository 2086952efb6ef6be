"""Starts ``maestro-env audit``."""

from experiments import cli

cli.start("audit")
