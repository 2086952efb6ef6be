"""Starts ``python -m experiments.gamma_parity``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from experiments import cli

if TYPE_CHECKING:
    from experiments.gamma_parity.job import ParityConfig


def main(argv: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    return cli.run(_load, "experiments.gamma_parity", argv)


def _load() -> tuple[type[ParityConfig], Callable[[ParityConfig], int]]:
    from experiments.gamma_parity.job import ParityConfig, execute

    return ParityConfig, execute


if __name__ == "__main__":
    cli.end(main())
