"""The flags of ``maestro-env run``."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.search.goals import LAYER_HELP, MAPPERS_HELP
from experiments.shell.flags import option
from experiments.study.config import StudyConfig
from maestro_env.evaluation.objectives import OBJECTIVES


@dataclass(frozen=True)
class _Problem:
    """The flags that say what is searched."""

    layer: str = option("mobilenetv2_l2", LAYER_HELP)
    objective: str = option("edp", f"what to minimise: {', '.join(OBJECTIVES)}")
    mapper: str = option("all", MAPPERS_HELP)


@dataclass(frozen=True)
class RunConfig(StudyConfig, _Problem):
    """Search mappings of one layer; write a run directory with traces, best mapping and plot."""

    seeds: int = option(1, "searches per mapper, one a seed", least=1, most=10_000)
    list_layers: bool = option(
        False, "print the known layers, as the command layers does, and stop"
    )
