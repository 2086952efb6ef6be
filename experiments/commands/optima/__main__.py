"""Starts ``maestro-env optima``."""

from experiments.shell import cli

cli.start("optima")
