"""The flags of ``experiments.layers``."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.flags import option


@dataclass(frozen=True)
class LayersConfig:
    """List the layers that have a name, with their dimensions and numbers of MACs."""

    network: str | None = option(None, "list those of one network, such as resnet18")
