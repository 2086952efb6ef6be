"""Starts ``maestro-env optima``."""

from experiments import cli

cli.start("optima")
