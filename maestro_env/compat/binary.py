"""Evaluates parsed mapping files as the MAESTRO binary does: CSV cells, or how it crashes."""

from __future__ import annotations

from maestro_env import _native
from maestro_env.base.m_file import ENDS, NetworkText, ReferenceDeath

_NOCS = 4


def equal_nocs(bandwidth: int, latency: int) -> list[tuple[int, int]]:
    """Return networks-on-chip that are the same on every level."""
    return [(bandwidth, latency)] * _NOCS


def run(
    network: NetworkText,
    nocs: list[tuple[int, int]],
    num_pes: int,
    simd_lanes: int,
    offchip_bw: int,
) -> list[list[str]]:
    """Return the CSV cells of every layer, without the names, or raise a ``ReferenceDeath``.

    Networks-on-chip are bandwidth (words per cycle) and latency (cycles) of each level, the
    innermost level first; ``offchip_bw`` is in words per cycle.
    """
    try:
        layers = [
            _native.Layer(each.operator, each.extents, each.strides) for each in network.layers
        ]
    except ValueError as error:
        raise ReferenceDeath("exit", str(error)) from None
    mappings = [each.directives for each in network.layers]
    status, rows = _native.run_network(layers, mappings, num_pes, simd_lanes, offchip_bw, nocs)
    if status != "ok":
        kind = status.removeprefix("reference_")
        raise ReferenceDeath(kind, f"the MAESTRO binary {ENDS[status]} on this mapping")
    return rows
