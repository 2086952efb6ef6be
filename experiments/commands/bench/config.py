"""The flags of ``maestro-env bench``."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.shell.flags import option


@dataclass(frozen=True)
class BenchConfig:
    """Measure how fast mappings are evaluated on this machine."""

    json: str | None = option(None, "write the figures to this file too", value="file")
    maestro: str | None = option(None, "compare with this MAESTRO binary", value="path")
