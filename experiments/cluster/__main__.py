"""Starts ``python -m experiments.cluster``."""

from __future__ import annotations

from experiments import cli

main = cli.command("experiments.cluster")

if __name__ == "__main__":
    cli.end(main())
