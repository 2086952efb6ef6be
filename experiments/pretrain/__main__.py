"""Starts ``python -m experiments.pretrain``."""

from experiments import cli

cli.start("experiments.pretrain")
