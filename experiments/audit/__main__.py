"""Starts ``python -m experiments.audit``."""

from experiments import cli

cli.start("experiments.audit")
