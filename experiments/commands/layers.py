"""``maestro-env layers``: list the named layers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from maestro_env.experiments.shell.flags import option
from maestro_env.experiments.shown.tables import Table
from maestro_env.workloads.finding import all_layers, find_network, models, parse_dims
from maestro_env.workloads.layer import Layer
from maestro_env.workloads.network import Network


@dataclass(frozen=True)
class Config:
    """List the named layers, or those of a network, with their numbers of MACs."""

    network: str | None = option(
        None, "list the layers of a network, such as resnet18, or of a file, such as net.onnx"
    )
    dim: str | None = option(
        None, "sizes of open dimensions of the file, such as batch=1,tokens=128"
    )


def execute(config: Config) -> int:
    """Look up or read, print, and return the exit status."""
    network, dims = config.network, parse_dims(config.dim or "")
    if network is None or (network in models() and not dims):
        _layers("Layers", all_layers() if network is None else models()[network])
    else:
        _network(find_network(network, dims))
    return 0


def _layers(title: str, layers: Iterable[Layer], note: str = "") -> None:
    rows = [
        (layer.name, layer.operator, layer.dimensions, f"{layer.macs:,}", layer.count)
        for layer in layers
    ]
    Table(title, ("name", "operator", "dimensions"), ("MACs", "count"), rows, note).print()


def _network(network: Network) -> None:
    """Print the layers of a network, what was left out, and what is approximated."""
    total = network.macs + network.left_out_macs
    note = f"{network.macs:,} MACs in all"
    _layers(f"Layers of {network.name}", network.layers, "\n".join([note, *network.notes]))
    rows = [
        (each.name, each.operator, each.reason, *_share(each.macs, total))
        for each in network.left_out
    ]
    if rows:
        Table("Left out", ("name", "operator", "reason"), ("MACs", "share"), rows).print()


def _share(macs: int | None, total: int) -> tuple[str, str]:
    return ("unknown", "unknown") if macs is None else (f"{macs:,}", f"{macs / total:.1%}")
