"""Lines in the plane of latency and energy that no mapping is below, and products above them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from maestro_env.evaluation.fronts import Powers
from maestro_env.evaluation.objectives import Objective

Shares = Mapping[tuple[int, int], float]
"""Of the time of ports, by element and way: weights that add up to at most 1."""


@dataclass(frozen=True)
class Line:
    """No mapping has a lower ``energy`` x nJ + ``latency`` x cycles than ``bound``.

    Args:
        energy, latency: weights.
        bound: of their sum.
        shares: ports whose time stands for a part of the latency.
    """

    energy: float
    latency: float
    bound: float
    shares: Shares = field(default_factory=dict)


def powers_of(objective: Objective) -> Powers:
    """Return how often latency and energy are factors of an objective."""
    latency, energy = map(objective.factors.count, ("latency_cycles", "energy_nj"))
    return latency, energy


def least_product(lines: Sequence[Line], powers: tuple[int, int]) -> tuple[float, float, float]:
    """Return the least latency^a energy^b on or above all lines, and where it is.

    The lines bound a convex region. Along each of them the product rises and then falls, or only
    one of both, so that it is least where two lines meet, or at the least latency.

    Args:
        lines: one of them of latency alone and, if energy counts, one of energy alone.
        powers: a and b.

    Returns:
        The product, latency in cycles, energy in nJ.
    """
    least = max(each.bound / each.latency for each in lines if not each.energy)
    slopes = [each for each in lines if each.energy]
    if not slopes:
        return least ** powers[0], least, 0.0
    if any(math.isinf(each.bound) for each in lines):
        # There is no mapping.
        return math.inf, least, math.inf
    tilt = np.array([each.latency / each.energy for each in slopes])
    height = np.array([each.bound / each.energy for each in slopes])
    with np.errstate(divide="ignore", invalid="ignore"):
        meeting = (height[:, np.newaxis] - height) / (tilt[:, np.newaxis] - tilt)
    latency = np.array([least, *meeting[np.isfinite(meeting) & (meeting > least)]])
    energy = (height[:, np.newaxis] - tilt[:, np.newaxis] * latency).max(axis=0)
    values = latency ** powers[0] * energy ** powers[1]
    place = int(values.argmin())
    return float(values[place]), float(latency[place]), float(energy[place])
