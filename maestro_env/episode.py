"""Rewards, observations and episode ends: the rules that both environments share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Protocol, TypeVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from maestro_env import _native
from maestro_env.errors import UnknownNameError
from maestro_env.hardware import Hardware
from maestro_env.layer import Layer
from maestro_env.objectives import area_bound, energy_bound, latency_bound

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

INFOS = ("basic", "full")
"""How much an environment tells of a step: ``full`` adds what is known of the optimum."""


def episode_end(steps: int, length: int) -> tuple[bool, bool]:
    """Return whether an episode is terminated and whether it is truncated after ``steps``.

    Learners bootstrap the value after a truncation, so an episode of one step must terminate.
    """
    ends = steps >= length
    return ends and length == 1, ends and length > 1


def require_info(info: str) -> str:
    """Return how much is told, if it is a name of ``INFOS``."""
    if info not in INFOS:
        raise UnknownNameError("info", info, INFOS)
    return info


def optimum_information(known: tuple[float, float], value: Ratio) -> dict[str, float | Ratio]:
    """Return what ``info="full"`` adds for one or many values, infinite where invalid.

    These are the optimum, its bound, and the regret: how far a value is above the optimum, as a
    share of it. All are NaN where nothing is known.
    """
    optimum, bound = known
    return {"optimum": optimum, "optimum_bound": bound, "regret": value / optimum - 1}


def observation_space() -> spaces.Space[Observations]:
    """Return the space of one observation."""
    return spaces.Box(0.0, 1.0, (_native.OBSERVED,), np.float32)


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
