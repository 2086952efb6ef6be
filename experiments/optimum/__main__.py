"""Starts ``python -m experiments.optimum``."""

from experiments import cli

cli.start("experiments.optimum")
