"""Starts ``python -m experiments.misses``."""

from experiments import cli

cli.start("experiments.misses")
