"""Starts ``maestro-env sweep``."""

from experiments import cli

cli.start("sweep")
