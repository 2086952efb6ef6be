"""Fronts: mappings of which none is better in both latency and energy, and a network's choices."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
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
    return min(_corners(figures), key=lambda chosen: product_of(figures, counts, chosen, powers))


def front_of_choices(
    figures: Sequence[NDArray[np.float64]], counts: Sequence[int], most: int = 1000
) -> Front:
    """Return the front of all choices of a row for every layer: the rows as points, and the totals.

    Layers are added one by one to the front of those before. A front of more than ``most`` choices
    is thinned evenly, so that the last one may lack some, and have some that these beat; it always
    has those that are least for some weighting of latency against energy, and so what
    ``least_product`` chooses.
    """
    sums = Front(np.empty((1, 0), dtype=np.int32), np.zeros((1, 2)))
    for rows, count in zip(figures, counts, strict=True):
        totals = (sums.figures[:, np.newaxis] + count * rows).reshape(-1, 2)
        kept = Front.of(np.arange(len(totals), dtype=np.int32)[:, np.newaxis], totals)
        places = np.unique(np.linspace(0, len(kept.points) - 1, most).round().astype(np.int64))
        before, row = np.divmod(kept.points[places, 0], len(rows))
        points = np.column_stack([sums.points[before], row]).astype(np.int32)
        sums = Front(points, kept.figures[places])
    choices = [*sums.points.tolist(), *_corners(figures)]
    exact = np.array([totals_of(figures, counts, each) for each in choices])
    return Front.of(np.array(choices, dtype=np.int32), exact)


def representatives(
    figures: NDArray[np.float64], first: int, most: int, near: float = 0.0
) -> tuple[list[int], float]:
    """Return some rows of a front, in its order, and how near the others are to one of these.

    One by one comes the row that is farthest from all before it, as long as it is farther than
    ``near``. How far a row is from another is the share by which the other is more in some figure,
    whichever is most (the additive epsilon of Zitzler et al., IEEE TEVC 2003, on logarithms).

    Args:
        figures: positive ones, the less the better, float64[F, K]; F at least 1.
        first: the row to begin with.
        most: rows that are returned.
        near: a share of a figure.
    """
    logs = np.log(figures)
    # Of each row from each other one (columns).
    far = (logs[np.newaxis] - logs[:, np.newaxis]).max(axis=2)
    chosen = [first]
    while len(chosen) < min(most, len(figures)):
        left = far[:, chosen].min(axis=1)
        if left.max() <= math.log1p(near):
            break
        chosen.append(int(left.argmax()))
    return sorted(chosen), float(np.expm1(far[:, chosen].min(axis=1).max()))


def _corners(figures: Sequence[NDArray[np.float64]]) -> Iterator[list[int]]:
    """Yield the choices that are least for some weighting, the fastest first."""
    hulls = [_hull(each) for each in figures]
    chosen = [hull[0] for hull in hulls]
    yield list(chosen)
    # Energy saved for a cycle more, and the layer and row it is saved by; the most first.
    steps = sorted(
        (
            (-_saving(rows, one, other), layer, other)
            for layer, (rows, hull) in enumerate(zip(figures, hulls, strict=True))
            for one, other in pairwise(hull)
        )
    )
    for _, layer, row in steps:
        chosen[layer] = row
        yield list(chosen)


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
