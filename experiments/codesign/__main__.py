"""Starts ``python -m experiments.codesign``."""

from experiments import cli

cli.start("experiments.codesign")
