"""Starts ``python -m experiments.cluster``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from experiments import cli

if TYPE_CHECKING:
    from experiments.cluster.job import ClusterConfig


def main(argv: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    return cli.run(_load, "experiments.cluster", argv)


def _load() -> tuple[type[ClusterConfig], Callable[[ClusterConfig], int]]:
    from experiments.cluster.job import ClusterConfig, execute

    return ClusterConfig, execute


if __name__ == "__main__":
    cli.end(main())
