"""The flags of ``experiments.evaluate``."""

from __future__ import annotations

from dataclasses import MISSING, dataclass

from experiments.flags import option
from experiments.goals import HARDWARE_HELP, LAYER_HELP


@dataclass(frozen=True)
class EvaluateConfig:
    """Score one mapping under both cost models; print its loop nest and its figures."""

    file: str = option(
        MISSING, "a mapping: best_mapping.json of a run, or a MAESTRO file such as F.m"
    )
    layer: str | None = option(None, f"{LAYER_HELP} (default: the layer in F.m)")
    hardware: str = option("unlimited", HARDWARE_HELP)
