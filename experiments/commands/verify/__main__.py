"""Starts ``maestro-env verify``."""

from experiments.shell import cli

cli.start("verify")
