"""Starts ``python -m experiments.gamma_parity``."""

from experiments import cli

cli.start("experiments.gamma_parity")
