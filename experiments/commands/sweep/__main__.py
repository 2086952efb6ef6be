"""Starts ``maestro-env sweep``."""

from experiments.shell import cli

cli.start("sweep")
