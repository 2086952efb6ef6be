"""Rewards, observations and episode ends: the rules that both environments share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from maestro_env import _native
from maestro_env.accelerators.hardware import Hardware
from maestro_env.base.checks import require_integer
from maestro_env.base.errors import EnvError
from maestro_env.evaluation.objectives import area_bound, energy_bound, latency_bound
from maestro_env.workloads.layer import Layer

Observations = NDArray[np.float32]
Ratio = TypeVar("Ratio", float, NDArray[np.float64])


class Reward(Protocol):
    """Maps reference / objective, which is 0 for an invalid mapping, to a reward."""

    def __call__(self, ratio: Ratio, /) -> Ratio: ...


def _inverse(ratio: Ratio) -> Ratio:
    return ratio


def _logarithmic(ratio: Ratio) -> Ratio:
    logarithm: Ratio = np.log1p(ratio)
    return logarithm


REWARDS: Mapping[str, Reward] = {"inverse": _inverse, "log": _logarithmic}
"""The rewards by name."""

MOST_REWARDED = 1e30
"""The largest ratio of reference and objective that is rewarded, so that rewards are finite."""


def episode_end(steps: int, length: int) -> tuple[bool, bool]:
    """Return whether an episode is terminated and whether it is truncated after ``steps``.

    Learners bootstrap the value after a truncation, so an episode of one step must terminate.
    """
    ends = steps >= length
    return ends and length == 1, ends and length > 1


def require_episode_length(length: object, action: str) -> int:
    """Return the mappings of an episode; None stands for the usual number of a kind of action."""
    if length is None:
        return 1 if action == "discrete_steps" else 100
    return require_integer("episode_length", length, EnvError)


def first_observation(layer: Layer, hardware: Hardware) -> Observations:
    """Return the observation before the first step, float32[4]: the lower bound of each figure.

    All zeros would leave a policy network with its biases alone.
    """
    least = {
        "latency_cycles": latency_bound(layer, hardware),
        "energy_nj": energy_bound(layer, hardware),
        "area_um2": area_bound(layer, hardware),
    }
    row = np.array([[least.get(name, math.nan) for name in _native.METRICS]])
    first: Observations = observation(row)[0]
    return first


def observation(metrics: NDArray[np.float64]) -> Observations:
    """Scale latency, power, energy and area of float64[N, M] rows to float32[N, 4] in [0, 1]."""
    return _native.observations(metrics)
