"""Starts ``python -m experiments.audit RUNDIR``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from experiments import cli

if TYPE_CHECKING:
    from experiments.audit.job import AuditConfig


def main(argv: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    return cli.run(_load, "experiments.audit", argv)


def _load() -> tuple[type[AuditConfig], Callable[[AuditConfig], int]]:
    from experiments.audit.job import AuditConfig, execute

    return AuditConfig, execute


if __name__ == "__main__":
    cli.end(main())
