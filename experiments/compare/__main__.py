"""Starts ``python -m experiments.compare``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from experiments import cli

if TYPE_CHECKING:
    from experiments.compare.config import CompareConfig


def main(argv: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    return cli.run(_load, "experiments.compare", argv)


def _load() -> tuple[type[CompareConfig], Callable[[CompareConfig], int]]:
    from experiments.compare.config import CompareConfig
    from experiments.compare.job import execute

    return CompareConfig, execute


if __name__ == "__main__":
    cli.end(main())
