"""Starts ``maestro-env misses``."""

from experiments import cli

cli.start("misses")
