"""Starts ``python -m experiments.run``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from experiments import cli

if TYPE_CHECKING:
    from experiments.config import RunConfig


def main(argv: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    return cli.run(_load, "experiments.run", argv)


def _load() -> tuple[type[RunConfig], Callable[[RunConfig], int]]:
    from experiments.config import RunConfig
    from experiments.run.job import execute

    return RunConfig, execute


if __name__ == "__main__":
    cli.end(main())
