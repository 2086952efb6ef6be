"""Starts ``python -m experiments.warm``."""

from experiments import cli

cli.start("experiments.warm")
