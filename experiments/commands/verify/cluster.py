"""How long the first cluster and its first PE take at least (docs/optimum.md, 6)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from experiments.commands.verify.facts import (
    FILTER,
    LOOPS,
    OUTPUT,
    WINDOWS,
    Array,
    Facts,
    Tile,
    ceil_div,
)
from experiments.commands.verify.ranges import Ranges

Words = Array | float

BUT_LAST, BUT_FIRST, BUT_BOTH = range(3)
"""Steps of a level along a loop: all but the last, all but the first, all but both."""


class OfPiece(Protocol):
    """Something of a piece, of the least and the most indices that it may have."""

    def __call__(self, least: Array, most: Array, /) -> Array: ...


class Over(Protocol):
    """A sum over some pieces, float64[L, N]; of all pieces at least ``of_all``, if given."""

    def __call__(self, of_piece: OfPiece, of_all: Array | None = None, /) -> Array: ...


def passing(facts: Facts, words: Words, most: Words) -> Words:
    """Return the cycles in which words pass the network in so many transfers at most.

    Each takes the latency - 1 longer than its words, rounded up: a cycle less without latency.
    """
    cycles = ceil_div(words, facts.hardware.noc_bw)
    return cycles if facts.hardware.noc_latency >= 1 else np.maximum(0.0, cycles - most)


@dataclass(frozen=True)
class Transfers:
    """Transfers one way, beside steps of a cycle or more.

    Args:
        facts: of the space.
        most: how many there are, at most.
        alone: how many of them have no step beside them, at most.
    """

    facts: Facts
    most: Words
    alone: Words

    def cycles(self, words: Words) -> Words:
        """Return the cycles in which so many words pass, or the steps beside them.

        Without latency, v words take ceil(v / b) - 1 cycles: that or 1, whichever is more, is at
        least v / 2b; alone they take at least (v / b - 1) / 2.
        """
        cycles = passing(self.facts, words, self.most)
        if self.facts.hardware.noc_latency >= 1:
            return cycles
        half = np.ceil((np.divide(words, self.facts.hardware.noc_bw) - self.alone) / 2)
        return np.maximum(cycles, half)


class Cluster:
    """The first cluster.

    Attributes:
        all, first, last: what it does with all its pieces, with the first and with the last one.
    """

    def __init__(self, facts: Facts, r: Ranges) -> None:
        self._facts, self._r = facts, r
        known = (r.Ta == r.Tz) & (r.n0a == r.n0z)
        self._last_most = np.where(known, r.own_tail, r.Tz)
        # With more steps than the fewest, the last piece may be a single index.
        self._last_least = np.where(r.same_steps, r.own_tail, 1.0)
        self._most: Array = r.steps_z.prod(axis=0)
        self.all = Run(facts, r, self._over_all, self._most)
        self.first = Run(facts, r, self._of_full, 1.0)
        self.last = Run(facts, r, self._of_last, 1.0)

    def some(self, name: str, which: int) -> Words:
        """Return the cycles of the pieces but for one end of a loop, or both ends."""
        row = self._facts.cut_names.index(name)

        def over(of_piece: OfPiece, of_all: Array | None = None) -> Array:
            rows = self._over_all(of_piece, of_all)
            rows[row] = self._over_some(which, of_piece)[row]
            return rows

        return Run(self._facts, self._r, over, self._most).cycles

    def _over_all(self, of_piece: OfPiece, of_all: Array | None = None) -> Array:
        last = of_piece(self._r.own_tail, self._last_most)
        total = (self._r.steps_a - 1) * self._of_full(of_piece) + last
        return total if of_all is None else np.maximum(total, of_all)

    def _over_some(self, which: int, of_piece: OfPiece) -> Array:
        full, steps = self._of_full(of_piece), self._r.steps_a
        if which == BUT_LAST:
            return (steps - 1) * full
        between = np.maximum(steps - 2, 0) * full
        if which == BUT_BOTH:
            return between
        return between + np.where(steps > 1, self._of_last(of_piece), 0.0)

    def _of_full(self, of_piece: OfPiece, _: Array | None = None) -> Array:
        return of_piece(self._r.Ta, self._r.Tz)

    def _of_last(self, of_piece: OfPiece, _: Array | None = None) -> Array:
        return of_piece(self._last_least, self._last_most)


class Run:
    """Some pieces, one after the other.

    Args:
        facts: of the space.
        r: the ranges of the boxes.
        over: a sum over the pieces.
        most: transfers each way, at most.
    """

    def __init__(self, facts: Facts, r: Ranges, over: Over, most: Words) -> None:
        self._facts, self._r, self._over, self._most = facts, r, over, most
        self._count = over(lambda least, _: np.ones_like(least))
        self._pieces: Array = self._count.prod(axis=0)

    @cached_property
    def cycles(self) -> Words:
        return self.fills + self.computing + self.drains

    @cached_property
    def computing(self) -> Words:
        """Return the cycles in which the first PE works: its MACs, or one a step."""
        return self._working(self._indices, self._steps)

    @property
    def begun(self) -> Words:
        """Return the cycles in which it works in the first step of each piece."""
        first = self._over(lambda least, _: np.minimum(self._r.ta, least))
        return self._working(first, self._count)

    @property
    def ended(self) -> Words:
        """Return the cycles in which it works in the last step of each piece."""
        last = self._over(lambda least, most: np.minimum(self._r.ta, self._last(least, most)))
        return self._working(last, self._count)

    def steps_along(self, name: str, which: int) -> Words:
        """Return the cycles in which it works in the steps but for one end of a loop, or both."""
        row = self._facts.cut_names.index(name)
        indices, steps = self._indices.copy(), self._steps.copy()
        indices[row] = self._over(lambda least, _: self._indices_but(which, least))[row]
        steps[row] = self._over(lambda least, _: self._steps_but(which, least))[row]
        return self._working(indices, steps)

    def beside_tiles(self, of_filter: Words, of_output: Words, transfers: Transfers) -> Words:
        """Return the cycles if one step for each tile of the filter or the output is a transfer.

        Args:
            of_filter: words of the filter over all pieces.
            of_output: words of the output.
            transfers: of the inner level.
        """
        facts = self._facts
        largest: Array = self._whole * self._r.tz.prod(axis=0)
        step = ceil_div(largest, facts.hardware.simd_lanes)
        spared = {axes: (self._most_tiles(axes) - self._pieces) * step for axes in (FILTER, OUTPUT)}
        comes = transfers.cycles(of_filter + self._first_inputs) + self.drains - spared[FILTER]
        leaves = self.fills + transfers.cycles(of_output) - spared[OUTPUT]
        return self.computing + np.maximum(comes, leaves)

    def _most_tiles(self, axes: str) -> Array:
        """Return the tiles of a tensor in all pieces, at most."""
        r = self._r
        is_axis = np.array([[name in axes] for name in self._facts.cut_names]).reshape(-1, 1)
        tiles: Array = (r.steps_z * np.where(is_axis, r.piece_steps_z, 1.0)).prod(axis=0)
        return tiles

    @cached_property
    def _indices(self) -> Array:
        r = self._r
        return self._over(lambda least, _: r.unit_indices_in(least), np.ceil(r.own / r.n1z))

    @cached_property
    def _steps(self) -> Array:
        r = self._r
        return self._over(lambda least, _: r.steps_in(least), np.ceil(r.own / (r.tz * r.n1z)))

    def _steps_but(self, which: int, least: Array) -> Array:
        steps: Array = np.maximum(self._r.steps_in(least) - (2 if which == BUT_BOTH else 1), 0)
        return steps

    def _indices_but(self, which: int, least: Array) -> Array:
        """Return the indices of the first PE in these steps: all but those of one chunk or two."""
        r = self._r
        chunk, left_out = np.minimum(least, r.tz), 2 if which == BUT_BOTH else 1
        but_last, but_both = (self._steps_but(some, least) for some in (BUT_LAST, BUT_BOTH))
        full = but_last if which == BUT_LAST else but_both
        by_chunk = full * np.minimum(least, r.ta)
        if which == BUT_FIRST:
            by_chunk = by_chunk + but_last - but_both
        found: Array = np.maximum(by_chunk, r.unit_indices_in(least) - left_out * chunk)
        return found

    def _working(self, indices: Array, steps: Array) -> Words:
        macs: Array = self._whole * indices.prod(axis=0)
        at_least: Array = steps.prod(axis=0)
        return np.maximum(ceil_div(macs, self._facts.hardware.simd_lanes), at_least)

    @cached_property
    def _whole(self) -> float:
        return math.prod(self._facts.extent[name] for name in self._facts.whole_names)

    @cached_property
    def fills(self) -> Words:
        """Return the cycles of the first fetch of each piece."""
        sums, count = self._sums(self._first_array), self._sums(self._count)
        filters = _product(sums, FILTER) * _product(count, _others(FILTER))
        return self._transfers(self._first_inputs + filters)

    @cached_property
    def drains(self) -> Words:
        """Return the cycles in which the last outputs of each of the pieces leave."""
        sums, count = self._sums(self._over(self._last)), self._sums(self._count)
        return self._transfers(_product(sums, OUTPUT) * _product(count, _others(OUTPUT)))

    @cached_property
    def _first_inputs(self) -> Words:
        """Return the words of the input in the first fetches."""
        sums, count = self._sums(self._first_array), self._sums(self._count)
        inputs = _product(sums, "NGC") * count["K"]
        for p, w in WINDOWS.items():
            inputs = inputs * self._first_rows(p, w, sums, count)
        return inputs

    def _first_rows(self, p: str, w: str, sums: Tile, count: Tile) -> Words:
        """Return the rows of the first fetch of each piece, summed over pieces of two loops."""
        facts, r = self._facts, self._r
        touched: Words = facts.step[p]
        if w in facts.cut_names:
            row = facts.cut_names.index(w)
            stride = facts.stride[p]
            touched = self._over(lambda least, _: np.minimum(stride, r.first_array_in(least)))[row]
        return sums[p] * touched + count[p] * (sums[w] - touched)

    @cached_property
    def _first_array(self) -> Array:
        return self._over(lambda least, _: self._r.first_array_in(least))

    def _last(self, least: Array, most: Array) -> Array:
        """Return the indices of the array in the last step of a piece."""
        r = self._r
        steps = r.steps_in(least)
        rest = np.maximum(least - (steps - 1) * r.tz * r.n1z, 1.0)
        return np.where(steps == ceil_div(most, r.ta * r.n1a), rest, 1.0)

    def _sums(self, rows: Array) -> Tile:
        extent: Tile = dict(self._facts.extent)
        if rows is self._count:
            extent = dict.fromkeys(LOOPS, 1.0)
        return extent | dict(zip(self._facts.cut_names, rows, strict=True))

    def _transfers(self, words: Words) -> Words:
        """Return the cycles of one transfer for each piece, of so many words in all."""
        hardware = self._facts.hardware
        cycles = passing(self._facts, words, self._most)
        if hardware.noc_latency < 1:
            return cycles
        return (hardware.noc_latency - 1) * self._pieces + np.maximum(self._pieces, cycles)


def _others(names: str) -> str:
    return "".join(name for name in LOOPS if name not in names)


def _product(tile: Tile, names: str) -> Words:
    result: Words = 1.0
    for name in names:
        result = result * tile[name]
    return result
