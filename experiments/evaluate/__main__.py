"""Starts ``python -m experiments.evaluate``."""

from experiments import cli

cli.start("experiments.evaluate")
