"""Starts ``maestro-env optimum``."""

from experiments.shell import cli

cli.start("optimum")
