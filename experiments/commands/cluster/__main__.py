"""Starts ``maestro-env cluster``."""

from experiments.shell import cli

cli.start("cluster")
