"""Starts ``python -m experiments.run``."""

from __future__ import annotations

from experiments import cli

main = cli.command("experiments.run")

if __name__ == "__main__":
    cli.end(main())
