"""The flags of ``maestro-env compare``."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.search.goals import MAPPERS_HELP
from experiments.shell.flags import option
from experiments.study.config import StudyConfig
from maestro_env.evaluation.objectives import OBJECTIVES


@dataclass(frozen=True)
class _Problems:
    """The flags that say what is searched."""

    layers: str = option(
        "resnet18_l2,resnet18_l16,alexnet_l2,gpt2_l4",
        "layers as run takes them, with commas between",
    )
    objectives: str = option(
        "latency,edp",
        f"what to minimise, some of these with commas between: {', '.join(OBJECTIVES)}",
    )
    mappers: str = option("all", MAPPERS_HELP)


@dataclass(frozen=True)
class CompareConfig(StudyConfig, _Problems):
    """Compare mappers on layers and objectives; write tables, a ledger and figures."""
