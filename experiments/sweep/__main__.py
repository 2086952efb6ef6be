"""Starts ``python -m experiments.sweep``."""

from experiments import cli

cli.start("experiments.sweep")
