"""Starts ``python -m experiments.compare``."""

from experiments import cli

cli.start("experiments.compare")
