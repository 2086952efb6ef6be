"""Starts ``maestro-env pretrain``."""

from experiments import cli

cli.start("pretrain")
