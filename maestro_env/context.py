"""Layer, hardware and objective as numbers: what a policy over many problems needs to see."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from maestro_env.hardware import Hardware
from maestro_env.layer import Layer
from maestro_env.nest import LOOPS, nest
from maestro_env.objectives import Objective

_STRIDES = ("stride_Y", "stride_X")
_TENSORS = ("input", "filter", "output")
_HARDWARE = ("num_pes", "simd_lanes", "noc_bw", "noc_latency", "offchip_bw")
_BUFFERS = ("l1", "l2")
_ENERGIES = ("l1_macs", "l2_macs", "noc_macs", "offchip_macs")
_FACTORS = ("latency_cycles", "energy_nj", "power_mw", "area_um2")
# No extent or figure is larger than 2^31 - 1, no number of words or MACs than 2^62.
_BITS = 31

OCTAVES: tuple[str, ...] = (
    *(f"extent_{loop}" for loop in LOOPS),
    *_STRIDES,
    *("macs_per_lane", *(f"{tensor}_words" for tensor in _TENSORS)),
    *(*_HARDWARE, *(f"{buffer}_words" for buffer in _BUFFERS), *_ENERGIES),
    *(f"{tensor}_per_l2" for tensor in _TENSORS),
)
SHARES: tuple[str, ...] = tuple(f"objective_{name}" for name in (*_FACTORS, "other"))
CONTEXT: tuple[str, ...] = (*OCTAVES, *SHARES)
"""What the entries of a context are; all are from -2 to 2.

Those of ``OCTAVES`` are log2(1 + x) / 31 of a number x, ``..._per_l2`` log2(x) / 31:

- ``extent_*``: of the loops of the canonical nest (``maestro_env.nest``); ``stride_*``.
- ``macs_per_lane``: MACs over all SIMD lanes of all PEs; ``..._words``: of each tensor.
- the figures of the hardware, in the units of ``Hardware``; ``l1_words``, ``l2_words``: of a buffer;
  ``*_macs``: energy of an access or word, in MACs.
- ``*_per_l2``: words of a tensor over those of L2.

Those of ``SHARES`` say which share of the factors of the objective a figure has, ``other`` all
other figures.
"""


def context(layer: Layer, hardware: Hardware, objective: Objective) -> NDArray[np.float32]:
    """Return the context of a problem, float32[C]: one number for each name of ``CONTEXT``."""
    numbers = (*_of_layer(layer), *_of_both(layer, hardware), *_of_objective(objective))
    return np.array(numbers, np.float32)


def _of_layer(layer: Layer) -> Iterator[float]:
    yield from map(_octaves, (*nest(layer).values(), *layer.stride))


def _of_both(layer: Layer, hardware: Hardware) -> Iterator[float]:
    yield _octaves(layer.macs / (hardware.num_pes * hardware.simd_lanes))
    words = [getattr(layer, f"{tensor}_words") for tensor in _TENSORS]
    yield from map(_octaves, words)
    buffers = [getattr(hardware, f"{name}_bytes") // hardware.word_bytes for name in _BUFFERS]
    yield from (_octaves(getattr(hardware, name)) for name in _HARDWARE)
    yield from map(_octaves, buffers)
    yield from (_octaves(getattr(hardware.energies, name)) for name in _ENERGIES)
    yield from (math.log2(each / max(buffers[-1], 1)) / _BITS for each in words)


def _of_objective(objective: Objective) -> Iterator[float]:
    shares = [objective.factors.count(name) / len(objective.factors) for name in _FACTORS]
    yield from (*shares, 1 - math.fsum(shares))


def _octaves(number: float) -> float:
    return math.log2(1 + number) / _BITS
