"""Starts ``maestro-env dataset``."""

from experiments.shell import cli

cli.start("dataset")
