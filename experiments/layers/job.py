"""The list of the layers that have a name."""

from __future__ import annotations

from experiments.layers.config import LayersConfig
from experiments.sheets import Sheet
from maestro_env.registry import look_up
from maestro_env.workloads import all_layers, models


def execute(config: LayersConfig) -> int:
    """Look up, print, and return the exit status."""
    network = config.network
    layers = all_layers() if network is None else look_up("network", network, models())
    rows = [
        (layer.name, layer.operator, layer.dimensions, f"{layer.macs:,}", layer.count)
        for layer in layers
    ]
    Sheet("Layers", ("name", "operator", "dimensions"), ("MACs", "count"), rows).print()
    return 0
