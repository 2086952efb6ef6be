"""Starts ``maestro-env gamma-parity``."""

from experiments import cli

cli.start("gamma-parity")
