"""Starts ``maestro-env cluster``."""

from experiments import cli

cli.start("cluster")
