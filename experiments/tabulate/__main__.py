"""Starts ``python -m experiments.tabulate``."""

from experiments import cli

cli.start("experiments.tabulate")
