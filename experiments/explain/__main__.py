"""Starts ``python -m experiments.explain``."""

from experiments import cli

cli.start("experiments.explain")
