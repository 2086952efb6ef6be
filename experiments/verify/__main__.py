"""Starts ``maestro-env verify``."""

from experiments import cli

cli.start("verify")
