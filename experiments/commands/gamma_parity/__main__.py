"""Starts ``maestro-env gamma-parity``."""

from experiments.shell import cli

cli.start("gamma-parity")
