"""Starts ``maestro-env codesign``."""

from experiments import cli

cli.start("codesign")
