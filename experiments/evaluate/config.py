"""The flags of ``experiments.evaluate``."""

from __future__ import annotations

from dataclasses import MISSING, dataclass

from experiments.flags import option
from experiments.goals import HARDWARE_HELP, LAYER_HELP, MAPPING_HELP
from maestro_env.exchange import FORMATS


@dataclass(frozen=True)
class EvaluateConfig:
    """Score one mapping under both cost models; print its loop nest and its figures."""

    file: str = option(MISSING, MAPPING_HELP)
    layer: str | None = option(None, f"{LAYER_HELP} (default: the layer in FILE)")
    hardware: str | None = option(
        None, f"{HARDWARE_HELP} (default: the accelerator in FILE, or unlimited)"
    )
    write: str | None = option(None, "also write the mapping to this new file", value="file")
    format: str | None = option(
        None, f"of the file to write: {', '.join(FORMATS)} (default: by the ending of its name)"
    )
