"""Starts ``maestro-env optimum``."""

from experiments import cli

cli.start("optimum")
