"""The flags of ``maestro-env misses``."""

from __future__ import annotations

from dataclasses import MISSING, dataclass

from experiments.shell.flags import option


@dataclass(frozen=True)
class MissesConfig:
    """Compare the best mappings of a run with the optima of its problems (model exact)."""

    rundir: str = option(MISSING, "a directory of run or compare")
    nodes: int = option(10**8, "boxes of mappings that the proof of an optimum may take", least=1)
