"""Starts ``python -m experiments.bench``."""

from experiments import cli

cli.start("experiments.bench")
