"""Many boxes of mappings as one table (docs/optimum.md, 9), and what all of a space share.

And what they need of the buffers at least, with idle PEs (docs/optimum.md, lemmas 21 and 28).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from maestro_env.mapspace.two_level_space import MapSpace

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Words = Array | float
Tile = Mapping[str, Words]
"""Sizes along each of the eight loops of spec/exact.md, E1."""

NONE = -1
"""In the place of a dimension: none of them."""
LOOPS = "NGKCPQRS"
INPUT, FILTER, OUTPUT = "NGC", "GKCRS", "NGKPQ"
"""Loops that are axes of a tensor without a window; the input has two more, (P, R) and (Q, S)."""
WINDOWS = {"P": "R", "Q": "S"}

_OWN_NAMES = {
    "GEMM": {"M": "P", "K": "C", "N": "K"},
    "DSCONV": {"C": "G", "Y'": "P", "X'": "Q"},
}
_NAMES = {"Y'": "P", "X'": "Q"}


def ceil_div(a: Words, b: Words) -> Array:
    """Return ceil(a / b) of whole numbers below 2^52, which doubles divide exactly enough."""
    return np.ceil(np.divide(a, b))


class Facts:
    """A space as the bounds see it.

    Attributes:
        dims: names of its dimensions, in its order.
        names: of the loops that they are.
        sizes: of every axis of a box, the sizes to choose from, ascending.
        columns: of every axis that has a choice, its place in a vector.
        parallel: of every choice of a parallel loop its dimension, or ``NONE`` if dealing it out is
            the same as dealing out none.
        extent: of all eight loops; 1 where the layer lacks one.
        cut: dimensions that some mapping cuts.
        rows: of their loops by name, in arrays that have a row for each.
        whole: product of the extents of the others.
        l1_words, l2_words: capacities.
        macs: of the layer.
        words: of its input, filter and output.
    """

    def __init__(self, space: MapSpace) -> None:
        self.space, self.hardware, layer = space, space.hardware, space.layer
        own = _OWN_NAMES.get(layer.operator, _NAMES)
        self.dims = list(space.extents)
        self.names = [own.get(dim, dim) for dim in self.dims]
        tiles = [space.tile(level, dim) for level in ("l2", "l1") for dim in self.dims]
        axes = [*tiles, space.cluster]
        self.sizes = [
            np.array([each] if isinstance(each, int) else each.values, dtype=np.float64)
            for each in axes
        ]
        self.columns = {
            axis: space.columns[each.name]
            for axis, each in enumerate(axes)
            if not isinstance(each, int)
        }
        self.cut = [d for d in range(len(self.dims)) if len(self.sizes[d]) > 1]
        self.parallel = [
            [dim if dim in self.cut else NONE for dim in map(self.dims.index, dealt)]
            for dealt in map(space.parallel_dims_of, ("l2", "l1"))
        ]
        self.rows = {self.names[d]: row for row, d in enumerate(self.cut)}
        self.extent = dict.fromkeys(LOOPS, 1.0)
        self.extent |= {own.get(dim, dim): float(e) for dim, e in space.extents.items()}
        self.whole = math.prod(self.extent[name] for name in LOOPS if name not in self.rows)
        of = self.hardware
        self.l1_words, self.l2_words = of.l1_bytes // of.word_bytes, of.l2_bytes // of.word_bytes
        self.stride = dict(zip(WINDOWS, map(float, layer.stride), strict=True))
        # Of a window of R rows that slides by s: x outputs touch x m + h rows.
        self.step = {p: min(self.stride[p], self.extent[r]) for p, r in WINDOWS.items()}
        self.halo = {p: self.extent[r] - self.step[p] for p, r in WINDOWS.items()}
        self.macs = math.prod(self.extent.values())
        self.words = self.tile_words(self.extent)

    def column(self, of_loops: Mapping[str, float]) -> Array:
        """Return figures of the loops that are cut, float64[L, 1]; 0 where there is none."""
        return np.array([[of_loops.get(name, 0.0)] for name in self.rows]).reshape(-1, 1)

    def among(self, names: str) -> Flags:
        """Say which of the loops that are cut are among some, bool[L, 1]."""
        return np.array([[name in names] for name in self.rows], dtype=bool).reshape(-1, 1)

    def tile(self, rows: Array) -> Tile:
        """Return a tile of some sizes along the loops that are cut, and whole along the others."""
        return {**self.extent, **dict(zip(self.rows, rows, strict=True))}

    def sizes_above(self, sizes: Array) -> Array:
        """Return the next outer choice above each of some sizes, float64[L, N] of the loops cut."""
        if self.space.tiles == "integers":
            return sizes + 1
        found = np.empty_like(sizes)
        for row, d in enumerate(self.cut):
            above = np.searchsorted(self.sizes[d], sizes[row], side="right")
            found[row] = self.sizes[d][np.minimum(above, len(self.sizes[d]) - 1)]
        return found

    def tile_words(self, tile: Tile) -> tuple[Words, Words, Words]:
        """Return the words of input, filter and output that a tile touches (E1)."""
        inputs = product(tile, INPUT)
        for p, r in WINDOWS.items():
            inputs = inputs * ((tile[p] - 1) * np.minimum(self.stride[p], tile[r]) + tile[r])
        return inputs, product(tile, FILTER), product(tile, OUTPUT)


def product(tile: Tile, names: str) -> Words:
    """Return the product of a tile's sizes along some loops; those that it lacks count 1."""
    result: Words = 1.0
    for name in names:
        size = tile.get(name, 1.0)
        if not isinstance(size, float) or size != 1:
            result = result * size
    return result


def others(axes: str) -> str:
    """Return the loops that are no axes of a tensor."""
    return "".join(name for name in LOOPS if name not in axes)


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


# Boxes at a time: their arrays stay in the processor's cache.
TOGETHER = 2048


@dataclass(frozen=True)
class Needs:
    """The least needs of boxes, float64[N].

    Attributes:
        l1: words of a PE, with its share of the cluster's buffer.
        streamed: words of L2 for input, filter and output, none of them resident.
    """

    l1: Array
    streamed: tuple[Array, Array, Array]

    @property
    def l2(self) -> Array:
        return self.streamed[0] + self.streamed[1] + self.streamed[2]


def least_needs(facts: Facts, e: Ends) -> Needs:
    """Return what boxes need with the smallest tiles and the largest clusters."""
    largest = e.cluster[1]
    clusters = np.where(e.dealt[0], np.floor(facts.hardware.num_pes / largest), 1.0)

    def words(rows: Array) -> tuple[Array, Array, Array]:
        of_input, of_filter, of_output = (
            np.broadcast_to(each, largest.shape) for each in facts.tile_words(facts.tile(rows))
        )
        return of_input, of_filter, of_output

    inner, outer = sum(words(e.inner[0])), sum(words(e.outer[0]))
    array = words(np.minimum(facts.column(facts.extent), clusters * e.outer[0]))
    of_input, of_filter, of_output = (
        np.minimum(2 * own, whole) for own, whole in zip(array, facts.words, strict=True)
    )
    return Needs(2 * inner + ceil_div(2 * outer, largest), (of_input, of_filter, of_output))


def may_fit(facts: Facts, boxes: Table) -> Flags:
    """Say which boxes have a mapping whose buffers may fit, bool[N]: the smallest tiles do."""
    fit = np.zeros(len(boxes), dtype=bool)
    for start in range(0, len(boxes), TOGETHER):
        some = slice(start, start + TOGETHER)
        e = ends(facts, boxes[some])
        needs = least_needs(facts, e)
        fit[some] = ~e.empty & (needs.l1 <= facts.l1_words) & (needs.l2 <= facts.l2_words)
    return fit


def only_idle(facts: Facts, boxes: Table) -> Flags:
    """Say in which boxes no cluster costs less than the next one that is larger than all of them.

    That is where a cluster has a PE for each chunk, and as many clusters are at work.
    """
    sizes, axis = facts.sizes[-1], len(facts.sizes) - 1
    following = boxes[:, last(axis)] + 1
    least = sizes.take(boxes[:, first(axis)], mode="clip")
    larger = sizes.take(following, mode="clip")
    of = ends(facts, boxes)
    most = (facts.column(facts.extent), of.outer[1])
    pieces, chunks = (
        np.where(dealt, ceil_div(whole, tile), 1.0).max(axis=0, initial=1.0)
        for dealt, whole, tile in zip(of.dealt, most, (of.outer[0], of.inner[0]), strict=True)
    )

    def working(cluster: Array) -> Array:
        found: Array = np.minimum(facts.hardware.num_pes // cluster, pieces)
        return found

    alike: Flags = (least >= chunks) & (working(least) == working(larger))
    return alike & (following < len(sizes))
