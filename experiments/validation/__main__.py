"""Starts ``python -m experiments.validation``."""

from experiments import cli

cli.start("experiments.validation")
