"""Starts ``maestro-env misses``."""

from experiments.shell import cli

cli.start("misses")
