"""Starts ``python -m experiments.hardware``."""

from experiments import cli

cli.start("experiments.hardware")
