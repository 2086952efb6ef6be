"""Fronts: mappings of which none is better in both latency and energy, and a network's choice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maestro_env import _native
from maestro_env.evaluation.evaluator import Batch, Evaluator
from maestro_env.mapspace.space import Points

FIGURES = [_native.METRICS.index(name) for name in ("latency_cycles", "energy_nj")]
"""Columns of a batch's metrics that fronts are of."""

Powers = tuple[int, int]
"""How often latency and energy are factors of an objective."""


@dataclass(frozen=True, eq=False)
class Front:
    """Mappings of one layer, the fastest first; each next one is slower and takes less energy.

    Args:
        points: vectors, int32[F, D].
        figures: latency in cycles and energy in nJ, float64[F, 2].
    """

    points: Points
    figures: NDArray[np.float64]

    @classmethod
    def of(cls, points: Points, figures: NDArray[np.float64]) -> Front:
        """Make the front of vectors int32[N, D], figures float64[N, 2], the first of equals."""
        # Sorts are stable.
        ranked = np.lexsort((figures[:, 1], figures[:, 0]))
        energies = figures[ranked, 1]
        least = np.minimum.accumulate(np.append(np.inf, energies))[:-1]
        kept = ranked[energies < least]
        return cls(points[kept], figures[kept])

    def joined(self, other: Front) -> Front:
        """Return the front of both; of equals the one that is here."""
        points = np.concatenate([self.points, other.points])
        return Front.of(points, np.concatenate([self.figures, other.figures]))


class FrontEvaluator(Evaluator):
    """An evaluator that keeps the front of all valid samples of its budget.

    It takes longer than others, as it needs two figures of every sample, not only the
    objective; values are the same.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        none = np.empty((0, len(self.space.parameters)), dtype=np.int32)
        self.front = Front(none, np.empty((0, len(FIGURES))))

    def evaluate(self, points: Points) -> Batch:
        return self.evaluate_in_full(points)[0]

    def evaluate_in_full(self, points: Points) -> tuple[Batch, NDArray[np.float64]]:
        batch, figures = super().evaluate_in_full(points)
        valid = batch.status == 0
        self.front = self.front.joined(Front.of(points[valid], figures[valid][:, FIGURES]))
        return batch, figures


def least_product(
    figures: Sequence[NDArray[np.float64]], counts: Sequence[int], powers: Powers = (1, 1)
) -> list[int]:
    """Choose a row for every layer so that total latency times total energy is least.

    The choice is exact. The product of powers of two positive sums is quasi-concave, so its least
    value over all choices is at a corner of the convex hull of their sums: where some weighting of
    latency against energy is least. For one weighting, layers choose independently; choices change
    only at finitely many weightings, and all of them are tried.

    Args:
        figures: of every layer, float64[F, 2], positive, as fronts have them; F at least 1.
        counts: how often each layer is executed.
        powers: of total latency and of total energy.
    """
    hulls = [_hull(each) for each in figures]
    chosen = [hull[0] for hull in hulls]
    # Energy saved for a cycle more, and the layer and row it is saved by; the most first.
    steps = sorted(
        (
            (-_saving(rows, one, other), layer, other)
            for layer, (rows, hull) in enumerate(zip(figures, hulls, strict=True))
            for one, other in pairwise(hull)
        ),
    )
    best, least = list(chosen), product_of(figures, counts, chosen, powers)
    for _, layer, row in steps:
        chosen[layer] = row
        if (product := product_of(figures, counts, chosen, powers)) < least:
            best, least = list(chosen), product
    return best


def totals_of(
    figures: Sequence[NDArray[np.float64]], counts: Sequence[int], chosen: Sequence[int]
) -> tuple[float, float]:
    """Return the latency and energy of all executions of all layers, each by its chosen row."""
    rows = [each[row] for each, row in zip(figures, chosen, strict=True)]
    latency, energy = (
        math.fsum(count * float(row[column]) for count, row in zip(counts, rows, strict=True))
        for column in range(2)
    )
    return latency, energy


def product_of(
    figures: Sequence[NDArray[np.float64]],
    counts: Sequence[int],
    chosen: Sequence[int],
    powers: Powers = (1, 1),
) -> float:
    """Return the product of powers of the totals."""
    totals = totals_of(figures, counts, chosen)
    return math.prod(total**power for total, power in zip(totals, powers, strict=True))


def _saving(rows: NDArray[np.float64], one: int, other: int) -> float:
    """Return the energy that a step from one row to a slower one saves for every cycle."""
    saved = rows[one] - rows[other]
    return float(saved[1] / -saved[0])


def _hull(rows: NDArray[np.float64]) -> list[int]:
    """Return the rows that are least for some weighting, the fastest first."""
    hull: list[int] = []
    front = Front.of(np.arange(len(rows), dtype=np.int32)[:, np.newaxis], rows).points[:, 0]
    for row in front.tolist():
        # A row is no corner if the step to it saves less for a cycle than the next one would.
        while len(hull) > 1 and _saving(rows, hull[-2], hull[-1]) <= _saving(rows, hull[-1], row):
            hull.pop()
        hull.append(row)
    return hull
