"""Starts ``python -m experiments.optima``."""

from experiments import cli

cli.start("experiments.optima")
