"""Mappings within a few per cent of the best one, collected while a search goes on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maestro_env.evaluation.evaluator import Batch, Evaluator
from maestro_env.evaluation.problem import require
from maestro_env.mappers.parts.arrays import (
    Booleans,
    Floats,
    Integers,
    orders_of,
    ranks_of,
    sizes_at,
)
from maestro_env.mapspace.parameter import Parameter
from maestro_env.mapspace.space import LEVELS, MapSpace, Points

NEAR = 0.03
"""Share of the least value that a near-optimum may be above it."""

# Samples kept, and as many that wait to be sorted out.
_KEPT, _WAITING = 512, 8192


class NearEvaluator(Evaluator):
    """An evaluator that keeps its best samples, none further than ``NEAR`` above the best.

    Mappings that differ only in the place of loops that do not move count once.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._points: Points = np.empty((0, len(self.space.parameters)), dtype=np.int32)
        self._near: Floats = np.empty(0)
        # Values from here on are not kept.
        self._worst = np.inf

    @property
    def space(self) -> MapSpace:
        """The map space of the problem."""
        return require(self.problem, "levels", "an evaluator of neighbours").space

    def record(self, points: Points, batch: Batch) -> None:
        super().record(points, batch)
        if self.best is None:
            return
        near = (batch.values <= (1 + NEAR) * self.best.value) & (batch.values < self._worst)
        self._points = np.concatenate([self._points, points[near]])
        self._near = np.concatenate([self._near, batch.values[near]])
        if len(self._near) > _KEPT + _WAITING:
            self._points, self._near = self.near(_KEPT)
            self._worst = self._near[-1] if len(self._near) == _KEPT else np.inf

    def near(self, most: int) -> tuple[Points, Floats]:
        """Return at most so many samples, the best first: int32[k, D] and float64[k]."""
        if self.best is None:
            return self._points, self._near
        identities = essentials(self.space, self._points)
        # Of equal values, numbers of mappings make an order as good as random.
        ranked = np.lexsort((identities, self._near))
        ranked = ranked[self._near[ranked] <= (1 + NEAR) * self.best.value]
        _, first = np.unique(identities[ranked], return_index=True)
        kept = ranked[np.sort(first)[:most]]
        return self._points[kept], self._near[kept]

    def look_around(self, most: int) -> None:
        """Evaluate all neighbours of so many of the best samples."""
        points, _ = self.near(most)
        if len(points):
            self.evaluate(np.concatenate([neighbours(self.space, point) for point in points]))

    def descend(self) -> None:
        """Go to the best neighbour of the best sample until there is no better one."""
        before = None
        while self.best is not before:
            before = self.best
            self.look_around(1)


def essentials(space: MapSpace, points: Points) -> NDArray[Any]:
    """Return a number for each of int32[N, D] vectors, equal where only loops that rest differ.

    A loop rests if it makes one step: its tile is its whole extent or, if it is parallel, its units
    compute all of it at once.
    """
    columns = [space.clipped(points).astype(np.int64)]
    for level, moving in zip(LEVELS, _moving(space, points), strict=True):
        column = space.columns[f"{level}_order"]
        columns[0][:, column] = 0
        orders = orders_of(points[:, column], len(space.extents))
        # Moving loops in their order, then all others in the order of their names.
        rests = ~np.take_along_axis(moving, orders, axis=1)
        ranked = np.argsort(np.where(rests, len(moving.T) + orders, np.arange(len(moving.T))))
        columns.append(np.take_along_axis(orders, ranked, axis=1))
    table = np.concatenate(columns, axis=1).astype(np.uint64)
    weights = np.random.default_rng(0).integers(0, 2**63, table.shape[1], dtype=np.uint64) * 2 + 1
    return table @ weights


def _moving(space: MapSpace, points: Points) -> list[Booleans]:
    """Return which loops make more than one step, bool[N, dimensions], for L2 and L1."""

    def sizes(size: Parameter | int) -> Integers:
        if isinstance(size, int):
            return np.full(len(points), size, dtype=np.int64)
        return sizes_at(size, points[:, space.columns[size.name]])

    names, rows = list(space.extents), np.arange(len(points))
    places = np.array([names.index(dim) for dim in space.parallel_dims])
    cluster = sizes(space.cluster)
    whole = np.broadcast_to(list(space.extents.values()), (len(points), len(names)))
    moving = []
    for level, units in zip(LEVELS, (space.hardware.num_pes // cluster, cluster), strict=True):
        tile = np.stack([sizes(space.tile(level, dim)) for dim in names], axis=1)
        tile = np.minimum(tile, whole)
        step = tile.copy()
        step[rows, places[points[:, space.columns[f"{level}_parallel"]]]] *= units
        moving.append(whole > step)
        whole = tile
    return moving


def neighbours(space: MapSpace, point: Points) -> Points:
    """Return vectors that differ from one, int32[D], in one parameter: int32[N, D].

    An order has two loops exchanged, a parallel loop is any other, and a size is one of about 60:
    near ones, powers of two, and those that make up to 24 even parts.
    """
    rows = []
    for column, parameter in enumerate(space.parameters):
        if parameter.kind == "order":
            choices = _exchanged(int(point[column]), len(space.extents))
        elif parameter.is_size:
            choices = _other_sizes(int(point[column]), parameter.choices)
        else:
            choices = np.arange(parameter.choices)
        varied = np.repeat(point[np.newaxis], len(choices), axis=0)
        varied[:, column] = choices
        rows.append(varied)
    return np.concatenate(rows)


def _exchanged(rank: int, n: int) -> Integers:
    first, second = np.triu_indices(n, 1)
    orders = np.repeat(orders_of(np.array([rank]), n), len(first), axis=0)
    rows = np.arange(len(first))
    orders[rows, first], orders[rows, second] = orders[rows, second], orders[rows, first]
    return ranks_of(orders)


def _other_sizes(choice: int, count: int) -> Integers:
    near = np.arange(choice - 8, choice + 9)
    powers = 2 ** np.arange(17) - 1
    parts = -(-count // np.arange(1, 25)) - 1
    return np.unique(np.concatenate([near, powers, parts]).clip(0, count - 1))
