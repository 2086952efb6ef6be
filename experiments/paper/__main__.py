"""Starts ``python -m experiments.paper``."""

from experiments import cli

cli.start("experiments.paper")
