"""The flags of ``maestro-env audit``."""

from __future__ import annotations

from dataclasses import MISSING, dataclass

from experiments.shell.flags import option


@dataclass(frozen=True)
class AuditConfig:
    """Score a run's best mappings under both models: are their figures possible?"""

    rundir: str = option(MISSING, "a directory of run, compare, sweep or codesign")
