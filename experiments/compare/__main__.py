"""Starts ``python -m experiments.compare``."""

from __future__ import annotations

from experiments import cli

main = cli.command("experiments.compare")

if __name__ == "__main__":
    cli.end(main())
