"""Starts ``python -m experiments.layers``."""

from experiments import cli

cli.start("experiments.layers")
