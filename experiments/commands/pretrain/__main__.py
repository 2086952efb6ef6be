"""Starts ``maestro-env pretrain``."""

from experiments.shell import cli

cli.start("pretrain")
