"""Many boxes of mappings as one table (docs/optimum.md, 9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from experiments.commands.verify.facts import Array, Facts

Table = NDArray[np.int32]
"""Boxes, a row each: parallel loops and innermost loops of the outer and the inner level, then the
first and the last choice of every axis: outer tiles, inner tiles, cluster size."""

UNDECIDED, NONE = -2, -1
OUTER_PARALLEL, INNER_PARALLEL, OUTER_INNERMOST, INNER_INNERMOST = range(4)
_RANGES = 4
_Axis = TypeVar("_Axis", int, NDArray[np.int64])


def first(axis: _Axis) -> _Axis:
    """Return the column of the first choice of an axis."""
    return _RANGES + 2 * axis


def last(axis: _Axis) -> _Axis:
    """Return the column of the last choice of an axis."""
    return _RANGES + 2 * axis + 1


def whole(facts: Facts, parallel: NDArray[np.int8]) -> Table:
    """Return the boxes of all mappings with some pairs of parallel loops, int8[N, 2]."""
    choices = [len(sizes) for sizes in (*facts.sizes, *facts.inner_sizes, facts.clusters)]
    boxes = np.zeros((len(parallel), _RANGES + 2 * len(choices)), dtype=np.int32)
    boxes[:, :2] = parallel
    boxes[:, 2:4] = UNDECIDED
    boxes[:, _RANGES + 1 :: 2] = np.array(choices) - 1
    return boxes


def tidy(boxes: Table) -> None:
    """End the ranges of inner tiles where those of the outer ones end, in place."""
    dims = (boxes.shape[1] - _RANGES) // 4
    outer, inner = boxes[:, 5 : 5 + 2 * dims : 2], boxes[:, 5 + 2 * dims : 5 + 4 * dims : 2]
    np.minimum(inner, outer, out=inner)


def equivalent(facts: Facts, dim: int) -> int:
    """Return a parallel dimension, or -1 if dealing it out is the same as dealing out none."""
    return dim if dim in facts.cut else NONE


@dataclass(frozen=True)
class Ends:
    """The least and the largest sizes of boxes, and which loops they deal out.

    Attributes:
        outer, inner: float64[L, N] pairs of ends, a row for each loop that is cut.
        cluster: float64[N] pair of ends.
        dealt: bool[L, N] of both levels, whether the loop is parallel.
        innermost: int8[N] of both levels.
        empty: bool[N], boxes without any mapping.
    """

    outer: tuple[Array, Array]
    inner: tuple[Array, Array]
    cluster: tuple[Array, Array]
    dealt: tuple[NDArray[np.bool_], NDArray[np.bool_]]
    innermost: tuple[Table, Table]
    empty: NDArray[np.bool_]


def ends(facts: Facts, boxes: Table) -> Ends:
    """Return the ends of boxes; an outer tile is at least the inner one, which is at most it."""
    dims, count = len(facts.sizes), len(boxes)
    columns = np.ascontiguousarray(boxes.T)
    cut = facts.cut
    empty = np.any(columns[_RANGES + 1 :: 2] < columns[_RANGES::2], axis=0)

    def sizes(axes: list[int], lists: list[Array], column: int) -> Array:
        found = np.empty((len(axes), count))
        for row, (axis, values) in enumerate(zip(axes, lists, strict=True)):
            found[row] = values[columns[_RANGES + 2 * axis + column]]
        return found

    outer, inner = ([lists[d] for d in cut] for lists in (facts.sizes, facts.inner_sizes))
    inner_axes = [dims + d for d in cut]
    inner_first = sizes(inner_axes, inner, 0)
    outer_last = sizes(cut, outer, 1)
    outer_first = np.maximum(sizes(cut, outer, 0), inner_first)
    inner_last = np.minimum(sizes(inner_axes, inner, 1), outer_last)
    empty |= (outer_first > outer_last).any(axis=0)
    (cluster_first,), (cluster_last,) = (sizes([2 * dims], [facts.clusters], end) for end in (0, 1))
    rows = np.array(cut, dtype=np.int32).reshape(-1, 1)
    return Ends(
        (outer_first, outer_last),
        (inner_first, inner_last),
        (cluster_first, cluster_last),
        (columns[OUTER_PARALLEL] == rows, columns[INNER_PARALLEL] == rows),
        (columns[OUTER_INNERMOST], columns[INNER_INNERMOST]),
        empty,
    )
