"""Starts ``python -m experiments.verify``."""

from experiments import cli

cli.start("experiments.verify")
