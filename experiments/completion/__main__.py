"""Starts ``python -m experiments.completion``."""

from experiments import cli

cli.start("experiments.completion")
