"""Starts ``maestro-env audit``."""

from experiments.shell import cli

cli.start("audit")
