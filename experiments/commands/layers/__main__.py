"""Starts ``maestro-env layers``."""

from experiments.shell import cli

cli.start("layers")
