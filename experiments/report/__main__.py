"""Starts ``python -m experiments.report``."""

from experiments import cli

cli.start("experiments.report")
