"""Starts ``python -m experiments.paper``."""

from __future__ import annotations

from experiments import cli

main = cli.command("experiments.paper")

if __name__ == "__main__":
    cli.end(main())
