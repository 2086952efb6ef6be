"""What agents observe, of costs and of the problem, and their rewards."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from maestro_env import _native
from maestro_env.accelerators.accelerator import Accelerator
from maestro_env.accelerators.hardware import Hardware
from maestro_env.evaluation.models import MODELS
from maestro_env.evaluation.objectives import Objective
from maestro_env.workloads.layer import LOOPS, Layer, nest

Observations = NDArray[np.float32]
AnyRatio = TypeVar("AnyRatio", float, NDArray[np.float64])


class Reward(Protocol):
    """Maps reference / objective, which is 0 for an invalid mapping, to a reward."""

    def __call__(self, ratio: AnyRatio, /) -> AnyRatio: ...


def _inverse(ratio: AnyRatio) -> AnyRatio:
    return ratio


def _logarithmic(ratio: AnyRatio) -> AnyRatio:
    logarithm: AnyRatio = np.log1p(ratio)
    return logarithm


REWARDS: Mapping[str, Reward] = {"inverse": _inverse, "log": _logarithmic}
"""The rewards by name."""

MOST_REWARDED = 1e30
"""The largest ratio of reference and objective that is rewarded, so that rewards are finite."""


def observation(metrics: NDArray[np.float64]) -> Observations:
    """Scale latency, power, energy and area of float64[N, M] rows to float32[N, 4] in [0, 1]."""
    return _native.observations(metrics)


def first_observation(least: Mapping[str, float]) -> Observations:
    """Return what is observed before the first step, float32[4]: the lower bound of each figure.

    All zeros would leave a policy network with its biases alone.

    Args:
        least: the bounds by name, as problems have them.
    """
    row = np.array([[least.get(name, math.nan) for name in _native.METRICS]])
    first: Observations = observation(row)[0]
    return first


_STRIDES = ("stride_Y", "stride_X")
_TENSORS = ("input", "filter", "output")
_HARDWARE = ("num_pes", "simd_lanes", "noc_bw", "noc_latency", "offchip_bw")
_BUFFERS = ("l1", "l2")
_ENERGIES = ("l1_macs", "l2_macs", "noc_macs", "offchip_macs")
_FACTORS = ("latency_cycles", "energy_nj", "power_mw", "area_um2")
# No extent or figure is larger than 2^31 - 1, no number of words or MACs than 2^62.
_BITS = 31

CONTEXT: tuple[str, ...] = (
    *(f"extent_{loop}" for loop in LOOPS),
    *_STRIDES,
    *("macs_per_lane", *(f"{tensor}_words" for tensor in _TENSORS)),
    *(*_HARDWARE, *(f"{buffer}_words" for buffer in _BUFFERS), *_ENERGIES),
    *(f"{tensor}_per_l2" for tensor in _TENSORS),
    *(f"objective_{name}" for name in (*_FACTORS, "other")),
)
"""What the entries of a context are; all are from 0 to 1.

- ``extent_*``: of the loops of the canonical nest (``workloads.layer``), and ``stride_*``:
  log2(1 + x) / 31.
- ``macs_per_lane``, MACs over all SIMD lanes of all PEs, and ``*_words`` of each tensor:
  log2(1 + x) / 62.
- ``num_pes`` to ``offchip_bw``, in the units of ``Hardware``; ``l1_words``; ``l2_words``;
  ``*_macs``, the energy of an access or word in MACs: log2(1 + x) / 31.
- ``*_per_l2``, words of a tensor over those of L2: 1/2 + log2(x) / 124.
- ``objective_*``: share of this figure among the factors of the objective, ``other`` of all others.
"""


def _span(name: str) -> int:
    if name.startswith("objective_"):
        return 1
    if name.endswith("_per_l2"):
        return 4 * _BITS
    counts = ("macs_per_lane", *(f"{tensor}_words" for tensor in _TENSORS))
    return 2 * _BITS if name in counts else _BITS


SPANS: Mapping[str, int] = {name: _span(name) for name in CONTEXT}
"""How many octaves each entry spans from 0 to 1; 1 for the shares of ``objective_*``."""


def context(layer: Layer, hardware: Accelerator, objective: Objective) -> NDArray[np.float32]:
    """Return the context of a problem, float32[C]: one number for each name of ``CONTEXT``.

    Of an accelerator with any memories, only layer and objective are told; all else is 0.
    """
    first, last = list(_of_layer(layer)), list(_of_objective(objective))
    untold = [0.0] * (len(CONTEXT) - len(first) - len(last))
    known = "levels" in MODELS[hardware.MODEL].abilities
    both = _of_both(layer, cast(Hardware, hardware)) if known else untold
    return np.array([*first, *both, *last], np.float32)


def _of_layer(layer: Layer) -> Iterator[float]:
    yield from map(_octaves, (*nest(layer).values(), *layer.stride))


def _of_both(layer: Layer, hardware: Hardware) -> Iterator[float]:
    yield _octaves(layer.macs / (hardware.num_pes * hardware.simd_lanes)) / 2
    words = [getattr(layer, f"{tensor}_words") for tensor in _TENSORS]
    yield from (_octaves(each) / 2 for each in words)
    buffers = [getattr(hardware, f"{name}_bytes") // hardware.word_bytes for name in _BUFFERS]
    yield from (_octaves(getattr(hardware, name)) for name in _HARDWARE)
    yield from map(_octaves, buffers)
    yield from (_octaves(getattr(hardware.energies, name)) for name in _ENERGIES)
    yield from (0.5 + math.log2(each / max(buffers[-1], 1)) / (4 * _BITS) for each in words)


def _of_objective(objective: Objective) -> Iterator[float]:
    shares = [objective.factors.count(name) / len(objective.factors) for name in _FACTORS]
    yield from (*shares, 1 - math.fsum(shares))


def _octaves(number: float) -> float:
    return math.log2(1 + number) / _BITS
