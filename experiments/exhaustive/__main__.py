"""Starts ``python -m experiments.exhaustive``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from experiments import cli

if TYPE_CHECKING:
    from experiments.exhaustive.config import ExhaustiveConfig


def main(argv: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    return cli.run(_load, "experiments.exhaustive", argv)


def _load() -> tuple[type[ExhaustiveConfig], Callable[[ExhaustiveConfig], int]]:
    from experiments.exhaustive.config import ExhaustiveConfig
    from experiments.exhaustive.job import execute

    return ExhaustiveConfig, execute


if __name__ == "__main__":
    cli.end(main())
