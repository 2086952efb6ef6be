"""Starts ``maestro-env dataset``."""

from experiments import cli

cli.start("dataset")
