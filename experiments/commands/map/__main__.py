"""Starts ``maestro-env map``."""

from experiments.shell import cli

cli.start("map")
