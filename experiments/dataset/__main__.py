"""Starts ``python -m experiments.dataset``."""

from experiments import cli

cli.start("experiments.dataset")
