"""Starts ``python -m experiments.bench``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from experiments import cli

if TYPE_CHECKING:
    from experiments.bench.job import BenchConfig


def main(argv: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    return cli.run(_load, "experiments.bench", argv)


def _load() -> tuple[type[BenchConfig], Callable[[BenchConfig], int]]:
    from experiments.bench.job import BenchConfig, execute

    return BenchConfig, execute


if __name__ == "__main__":
    cli.end(main())
