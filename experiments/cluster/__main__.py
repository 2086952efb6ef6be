"""Starts ``python -m experiments.cluster``."""

from experiments import cli

cli.start("experiments.cluster")
