"""The flags of ``experiments.explain``."""

from __future__ import annotations

from dataclasses import MISSING, dataclass

from experiments.flags import option
from experiments.goals import HARDWARE_HELP, LAYER_HELP, MAPPING_HELP
from maestro_env.objectives import OBJECTIVES


@dataclass(frozen=True)
class ExplainConfig:
    """Say why a mapping costs what it does under the model exact, and what would be better."""

    file: str = option(MISSING, MAPPING_HELP)
    layer: str | None = option(None, f"{LAYER_HELP} (default: the layer in FILE)")
    hardware: str | None = option(
        None, f"{HARDWARE_HELP} (default: the accelerator in FILE, or unlimited)"
    )
    objective: str = option("edp", f"by which other mappings are judged: {', '.join(OBJECTIVES)}")
    out: str | None = option(
        None, "where to write pictures: of PEs, traffic and time", value="directory"
    )
