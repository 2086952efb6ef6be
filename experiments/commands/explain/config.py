"""The flags of ``maestro-env explain``."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.search.mapping_config import MappingConfig
from experiments.shell.flags import option
from maestro_env.evaluation.objectives import OBJECTIVES


@dataclass(frozen=True)
class ExplainConfig(MappingConfig):
    """Say why a mapping costs what it does under the model exact, and what would be better."""

    objective: str = option("edp", f"by which other mappings are judged: {', '.join(OBJECTIVES)}")
    out: str | None = option(
        None, "where to write pictures: of PEs, traffic and time", value="directory"
    )
