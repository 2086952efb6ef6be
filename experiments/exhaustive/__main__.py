"""Starts ``python -m experiments.exhaustive``."""

from experiments import cli

cli.start("experiments.exhaustive")
