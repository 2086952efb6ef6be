"""The canonical loop nest: the same eight loops for every operator.

A matrix product is a convolution with a window of one element, whose rows are output rows; a
depthwise convolution has one channel per group.
"""

from __future__ import annotations

from collections.abc import Mapping

from maestro_env.workloads.layer import Layer

LOOPS = ("N", "G", "K", "C", "Y'", "X'", "R", "S")

# The loop that a dimension stands for, where it has another name.
_ROLES: Mapping[str, Mapping[str, str]] = {
    "GEMM": {"M": "Y'", "N": "K", "K": "C"},
    "DSCONV": {"C": "G"},
}


def loop_of(layer: Layer, dim: str) -> str:
    """Return the loop that a dimension of a layer stands for."""
    return _ROLES.get(layer.operator, {}).get(dim, dim)


def nest(layer: Layer) -> dict[str, int]:
    """Return the extents of all eight loops, in the order of ``LOOPS``."""
    extents = {loop_of(layer, dim): extent for dim, extent in layer.loop_extents.items()}
    return {loop: extents.get(loop, 1) for loop in LOOPS}
