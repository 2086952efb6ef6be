"""Starts ``maestro-env bench``."""

from experiments import cli

cli.start("bench")
