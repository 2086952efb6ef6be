"""Starts ``maestro-env map``."""

from experiments import cli

cli.start("map")
