"""Evaluates parsed mapping files as the MAESTRO binary does: CSV cells, or how it crashes."""

from __future__ import annotations

import signal
from dataclasses import dataclass

from maestro_env import _native
from maestro_env.m_file import NetworkText, ReferenceDeath

SIGNALS = {"sigfpe": signal.SIGFPE, "abort": signal.SIGABRT, "segv": signal.SIGSEGV}
"""Signals that kill the binary; its other failures are exits."""

EXIT_STATUS = 255
"""Exit status of the binary when it refuses its input."""

_NOCS = 4


@dataclass(frozen=True)
class Machine:
    """An accelerator as the binary's options describe it.

    Args:
        num_pes: processing elements.
        simd_lanes: MACs per PE and cycle.
        offchip_bw: words per cycle.
        nocs: bandwidth (words per cycle) and latency (cycles) of each level's network-on-chip, the
            innermost level first.
    """

    num_pes: int
    simd_lanes: int
    offchip_bw: int
    nocs: list[tuple[int, int]]


def equal_nocs(bandwidth: int, latency: int) -> list[tuple[int, int]]:
    """Return networks-on-chip that are the same on every level."""
    return [(bandwidth, latency)] * _NOCS


def run(network: NetworkText, machine: Machine) -> list[list[str]]:
    """Return the CSV cells of every layer, without the names, or raise a ``ReferenceDeath``."""
    try:
        layers = [
            _native.Layer(each.operator, each.extents, each.strides) for each in network.layers
        ]
    except ValueError as error:
        raise ReferenceDeath("exit", str(error)) from None
    status, rows = _native.run_network(
        layers,
        [each.directives for each in network.layers],
        machine.num_pes,
        machine.simd_lanes,
        machine.offchip_bw,
        machine.nocs,
    )
    if status != "ok":
        kind = status.removeprefix("reference_")
        raise ReferenceDeath(kind, f"MAESTRO dies on this mapping: {status}")
    return rows
