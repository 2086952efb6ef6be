"""The flags of ``experiments.evaluate``."""

from __future__ import annotations

from dataclasses import MISSING, dataclass

from experiments.flags import option
from experiments.goals import HARDWARE_HELP, LAYER_HELP
from maestro_env.exchange import FORMATS


@dataclass(frozen=True)
class EvaluateConfig:
    """Score one mapping under both cost models; print its loop nest and its figures."""

    file: str = option(
        MISSING,
        "a mapping: best_mapping.json of a run, a MAESTRO file such as F.m, or a Timeloop or "
        "AccelForge file such as F.yaml",
    )
    layer: str | None = option(None, f"{LAYER_HELP} (default: the layer in FILE)")
    hardware: str | None = option(
        None, f"{HARDWARE_HELP} (default: the accelerator in FILE, or unlimited)"
    )
    write: str | None = option(None, "also write the mapping to this new file", value="file")
    format: str | None = option(
        None, f"of the file to write: {', '.join(FORMATS)} (default: by the ending of its name)"
    )
