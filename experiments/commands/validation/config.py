"""The flags of ``maestro-env validation``."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.shell.flags import option


@dataclass(frozen=True)
class ValidationConfig:
    """Set Eyeriss' measurements of AlexNet beside the least latency and energy of the model."""

    nodes: int = option(300_000, "boxes of mappings looked into for each optimum at most")
