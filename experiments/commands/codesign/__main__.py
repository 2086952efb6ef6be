"""Starts ``maestro-env codesign``."""

from experiments.shell import cli

cli.start("codesign")
