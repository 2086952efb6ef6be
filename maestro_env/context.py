"""Layer, hardware and objective as numbers: what a policy over many layers needs to see."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from maestro_env.hardware import Hardware
from maestro_env.layer import DIMENSIONS, Layer
from maestro_env.objectives import Objective

_EXTENTS = ("G", "N", "K", "C", "Y", "X", "R", "S", "M")
_HARDWARE = (
    *("num_pes", "l1_bytes", "l2_bytes", "noc_bw", "offchip_bw", "noc_latency"),
    *("simd_lanes", "offchip_cost_macs"),
)
_FACTORS = ("latency_cycles", "energy_nj", "power_mw", "area_um2")
# No extent or figure is larger than 2^31 - 1.
_BITS = 31


CONTEXT: tuple[str, ...] = (
    *(f"operator_{name}" for name in DIMENSIONS),
    *(f"extent_{name}" for name in _EXTENTS),
    *("stride_Y", "stride_X"),
    *_HARDWARE,
    *(f"objective_{name}" for name in (*_FACTORS, "other")),
)
"""What the entries of a context are; all are from 0 to 1.

``operator_*``: 1 for the operator of the layer, else 0. ``extent_*``: log2(1 + extent) / 31, 0
where the operator has no such dimension; Y and X are input rows and columns. ``stride_*`` and the
figures of the hardware, in the units of ``Hardware``: log2(1 + figure) / 31. ``objective_*``: share
of this figure among the factors of the objective, ``other`` for all other figures.
"""


def context(layer: Layer, hardware: Hardware, objective: Objective) -> NDArray[np.float32]:
    """Return the context of a problem, float32[C]: one number for each name of ``CONTEXT``."""
    return np.array([*_of_layer(layer), *_of_hardware(hardware), *_of(objective)], np.float32)


def _of_layer(layer: Layer) -> Iterator[float]:
    yield from (float(name == layer.operator) for name in DIMENSIONS)
    yield from (_logarithm(layer.extents.get(name, 0)) for name in _EXTENTS)
    yield from map(_logarithm, layer.stride)


def _of_hardware(hardware: Hardware) -> Iterator[float]:
    figures = {"offchip_cost_macs": hardware.energies.offchip_macs}
    yield from (_logarithm(figures.get(name, getattr(hardware, name))) for name in _HARDWARE)


def _of(objective: Objective) -> Iterator[float]:
    shares = [objective.factors.count(name) / len(objective.factors) for name in _FACTORS]
    yield from (*shares, 1 - math.fsum(shares))


def _logarithm(figure: float) -> float:
    return math.log2(1 + figure) / _BITS
