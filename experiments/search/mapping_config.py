"""The flags that name a mapping, its layer and its accelerator."""

from __future__ import annotations

from dataclasses import MISSING, dataclass

from maestro_env.experiments.search.goals import HARDWARE_HELP, LAYER_HELP
from maestro_env.experiments.shell.flags import option


@dataclass(frozen=True)
class MappingConfig:
    """The flags of commands about one mapping; ``mapping_files.read_mapped`` reads it."""

    file: str = option(
        MISSING,
        "a mapping: a directory of run or optimum, its best_mapping.json, a MAESTRO file such as "
        "F.m, or a Timeloop or AccelForge file such as F.yaml",
    )
    layer: str | None = option(None, f"{LAYER_HELP} (default: the layer in FILE)")
    hardware: str | None = option(
        None, f"{HARDWARE_HELP} (default: the accelerator in FILE, or unlimited)"
    )
