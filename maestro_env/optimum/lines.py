"""Lines in the plane of latency and energy that no mapping is below, and products above them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from maestro_env.evaluation.fronts import Powers
from maestro_env.evaluation.objectives import Objective
from maestro_env.hierarchy.cost_floors import Values

Shares = Mapping[tuple[int, int], float]
"""Of the time of ports, by element and way: weights that add up to at most 1."""


@dataclass(frozen=True, eq=False)
class Line:
    """No mapping of a kind has a lower ``energy`` x nJ + ``latency`` x cycles than its bound.

    Args:
        energy, latency: weights.
        bounds: of their sum, by kind, float64[kinds]; or one for all, float64[1].
        shares: ports whose time stands for a part of the latency.
    """

    energy: float
    latency: float
    bounds: Values
    shares: Shares = field(default_factory=dict)

    @property
    def bound(self) -> float:
        """Of all kinds."""
        return float(self.bounds.min())

    def of(self, kind: int) -> float:
        """Return the bound of a kind."""
        return float(self.bounds[kind if len(self.bounds) > 1 else 0])

    def above(self, least: Least) -> float:
        """Return how far it is above a point, in cycles; infinite if no mapping is of the kind."""
        weighed = self.energy * least.energy + self.latency * least.latency
        return (self.of(least.kind) - weighed) / self.latency


class Least(NamedTuple):
    """Where a product is least: its value, latency in cycles, energy in nJ, and the kind."""

    value: float
    latency: float
    energy: float
    kind: int = 0


def powers_of(objective: Objective) -> Powers:
    """Return how often latency and energy are factors of an objective."""
    latency, energy = map(objective.factors.count, ("latency_cycles", "energy_nj"))
    return latency, energy


def least_product(lines: Sequence[Line], powers: tuple[int, int]) -> Least:
    """Return the least latency^a energy^b of mappings on or above the lines of their kind.

    Args:
        lines: one of them of latency alone and, if energy counts, one of energy alone.
        powers: a and b.
    """
    floors = _highest([each.bounds / each.latency for each in lines if not each.energy])
    slopes = [each for each in lines if each.energy]
    if not slopes:
        kind = int(floors.argmin())
        return Least(float(floors[kind]) ** powers[0], float(floors[kind]), 0.0, kind)
    tilt = np.array([each.latency / each.energy for each in slopes])
    heights = np.array(np.broadcast_arrays(*(each.bounds / each.energy for each in slopes)))
    floors = np.broadcast_to(floors, heights.shape[1:])
    lowest = floors ** powers[0] * heights[tilt == 0].max(axis=0) ** powers[1]
    found = Least(math.inf, float(floors.min()), math.inf)
    for kind in lowest.argsort(kind="stable").tolist():
        if lowest[kind] >= found.value:
            break
        of_kind = _least_of_kind(tilt, heights[:, kind], float(floors[kind]), powers)
        found = min(found, of_kind._replace(kind=kind))
    return found


def _highest(bounds: Sequence[Values]) -> Values:
    """Return the highest of some bounds of each kind."""
    found: Values = np.max(np.broadcast_arrays(*bounds), axis=0)
    return found


def _least_of_kind(tilt: Values, height: Values, least: float, powers: tuple[int, int]) -> Least:
    """Return the least product of a kind.

    The lines bound a convex region. Along each of them the product rises and then falls, or only
    one of both, so that it is least where two lines meet, or at the least latency.
    """
    if not np.isfinite(height).all():
        return Least(math.inf, least, math.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        meeting = (height[:, np.newaxis] - height) / (tilt[:, np.newaxis] - tilt)
    latency = np.array([least, *meeting[np.isfinite(meeting) & (meeting > least)]])
    energy = (height[:, np.newaxis] - tilt[:, np.newaxis] * latency).max(axis=0)
    values = latency ** powers[0] * energy ** powers[1]
    place = int(values.argmin())
    return Least(float(values[place]), float(latency[place]), float(energy[place]))
