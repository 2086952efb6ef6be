"""What the tests of workloads share: short ways to write layers, and a long number."""

from __future__ import annotations

from maestro_env.workloads.layer import Layer
from maestro_env.workloads.network import Network

LONG = "9" * 5000


def conv(k: int, c: int, padded: int, window: int, stride: int = 1) -> Layer:
    extents = {"K": k, "C": c, "Y": padded, "X": padded, "R": window, "S": window}
    return Layer("CONV", extents, (stride, stride))


def depthwise(c: int, padded: int, stride: int = 1) -> Layer:
    extents = {"C": c, "Y": padded, "X": padded, "R": 3, "S": 3}
    return Layer("DSCONV", extents, (stride, stride))


def gemm(m: int, n: int, k: int, count: int = 1) -> Layer:
    return Layer("GEMM", {"M": m, "N": n, "K": k}, count=count)


def same(layer: Layer, expected: Layer) -> bool:
    """Whether two layers differ in nothing but their names."""
    facts = [(x.operator, x.extents, x.stride, x.count) for x in (layer, expected)]
    return facts[0] == facts[1]


def facts(network: Network) -> str:
    """Return what the layers of a network are, such as ``2 GEMM M1 N2 K3, 1 CONV ...``."""
    return ", ".join(f"{each.count} {each.operator} {each.dimensions}" for each in network.layers)
