"""Starts ``python -m experiments.run``."""

from experiments.shell import cli

cli.start("run")
