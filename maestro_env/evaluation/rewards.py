"""Rewards, and what is observed of a cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from maestro_env import _native

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
