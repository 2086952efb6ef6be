"""Starts ``maestro-env layers``."""

from experiments import cli

cli.start("layers")
