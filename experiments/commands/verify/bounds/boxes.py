"""Many boxes of mappings as one table (docs/optimum.md, 9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from maestro_env.experiments.commands.verify.bounds.facts import Array, Facts, Flags

Table = NDArray[np.int32]
"""Boxes, a row each: parallel loops and innermost loops of the outer and the inner level, then the
first and the last choice of every axis: outer tiles, inner tiles, cluster size."""

UNDECIDED = -2
PARALLEL, INNERMOST, _RANGES = 0, 2, 4
"""Columns of the outer level's loops, which the inner level's follow, and of the first range."""
_Axis = TypeVar("_Axis", int, NDArray[np.int64])


def first(axis: _Axis) -> _Axis:
    """Return the column of the first choice of an axis."""
    return _RANGES + 2 * axis


def last(axis: _Axis) -> _Axis:
    """Return the column of the last choice of an axis."""
    return _RANGES + 2 * axis + 1


def whole(facts: Facts, parallel: NDArray[np.int8]) -> Table:
    """Return the boxes of all mappings with some pairs of parallel loops, int8[N, 2]."""
    boxes = np.zeros((len(parallel), _RANGES + 2 * len(facts.sizes)), dtype=np.int32)
    boxes[:, PARALLEL:INNERMOST] = parallel
    boxes[:, INNERMOST:_RANGES] = UNDECIDED
    boxes[:, _RANGES + 1 :: 2] = [len(sizes) - 1 for sizes in facts.sizes]
    return boxes


def tidy(boxes: Table) -> None:
    """Leave out inner tiles above all outer ones, and outer ones below all inner ones, in place."""
    dims = (boxes.shape[1] - _RANGES) // 4
    for end, cut in enumerate((np.maximum, np.minimum)):
        begin = _RANGES + end
        outer = boxes[:, begin : begin + 2 * dims : 2]
        inner = boxes[:, begin + 2 * dims : begin + 4 * dims : 2]
        kept = inner if end else outer
        cut(inner, outer, out=kept)


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
    dealt: tuple[Flags, Flags]
    innermost: tuple[Table, Table]
    empty: Flags


def ends(facts: Facts, boxes: Table) -> Ends:
    """Return the ends of boxes; an outer tile is at least the inner one, which is at most it."""
    dims, cut = len(facts.dims), facts.cut
    columns = np.ascontiguousarray(boxes.T)
    empty = np.any(columns[_RANGES + 1 :: 2] < columns[_RANGES::2], axis=0)

    def sizes(axes: list[int], end: int) -> Array:
        found = np.empty((len(axes), len(boxes)))
        for row, axis in enumerate(axes):
            # What a trim leaves nothing of begins behind the last size; it counts as empty.
            found[row] = facts.sizes[axis].take(columns[first(axis) + end], mode="clip")
        return found

    inner = [dims + d for d in cut]
    inner_first = sizes(inner, 0)
    outer_last = sizes(cut, 1)
    outer_first = np.maximum(sizes(cut, 0), inner_first)
    inner_last = np.minimum(sizes(inner, 1), outer_last)
    empty |= (outer_first > outer_last).any(axis=0)
    cluster_first, cluster_last = sizes([2 * dims], 0)[0], sizes([2 * dims], 1)[0]
    rows = np.array(cut, dtype=np.int32).reshape(-1, 1)
    return Ends(
        (outer_first, outer_last),
        (inner_first, inner_last),
        (cluster_first, cluster_last),
        (columns[PARALLEL] == rows, columns[PARALLEL + 1] == rows),
        (columns[INNERMOST], columns[INNERMOST + 1]),
        empty,
    )
