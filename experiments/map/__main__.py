"""Starts ``python -m experiments.map``."""

from experiments import cli

cli.start("experiments.map")
