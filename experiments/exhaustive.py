"""``python -m experiments.exhaustive``: the true optimum of a restricted map space."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from experiments import cli

if TYPE_CHECKING:
    from experiments.exhaustive_config import ExhaustiveConfig


def main(argv: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    return cli.run(_load, "experiments.exhaustive", argv)


def _load() -> tuple[type[ExhaustiveConfig], Callable[[ExhaustiveConfig], int]]:
    from experiments.exhaustive_config import ExhaustiveConfig
    from experiments.exhaustive_job import execute

    return ExhaustiveConfig, execute


if __name__ == "__main__":
    cli.end(main())
