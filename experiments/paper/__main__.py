"""Starts ``python -m experiments.paper``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from experiments import cli

if TYPE_CHECKING:
    from experiments.paper.config import PaperConfig


def main(argv: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    return cli.run(_load, "experiments.paper", argv)


def _load() -> tuple[type[PaperConfig], Callable[[PaperConfig], int]]:
    from experiments.paper.config import PaperConfig
    from experiments.paper.job import execute

    return PaperConfig, execute


if __name__ == "__main__":
    cli.end(main())
