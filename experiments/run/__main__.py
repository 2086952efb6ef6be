"""Starts ``python -m experiments.run``."""

from experiments import cli

cli.start("run")
