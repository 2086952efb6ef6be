"""How long the first cluster and its first PE take at least (docs/optimum.md, 6)."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, reduce

import numpy as np

from maestro_env.experiments.commands.verify.bounds.boxes import (
    FILTER,
    INPUT,
    LOOPS,
    OUTPUT,
    WINDOWS,
    Array,
    Facts,
    Flags,
    Tile,
    Words,
    ceil_div,
    others,
    product,
)
from maestro_env.experiments.commands.verify.bounds.sides import Ranges
from maestro_env.experiments.commands.verify.bounds.traffic import (
    BUT_BOTH,
    BUT_FIRST,
    BUT_LAST,
    Transfers,
)


@dataclass(frozen=True)
class Pieces:
    """Pieces that are alike, float64[L, N].

    Args:
        count: how many there are along each loop.
        least, most: indices that each may have.
    """

    count: Array
    least: Array
    most: Array


class Cluster:
    """The first cluster.

    Attributes:
        all, first, last: what it does with all its pieces, with the first and with the last one.
    """

    def __init__(self, facts: Facts, r: Ranges) -> None:
        self._facts, self._r = facts, r
        known = (r.Ta == r.Tz) & (r.n0a == r.n0z)
        last_most = np.where(known, r.own_tail, r.Tz)
        # With more steps than the fewest, the last piece may be a single index.
        last_least = np.where(r.same_steps, r.own_tail, 1.0)
        one, every, no = np.ones_like(r.Ta), facts.among(LOOPS), facts.among("")
        self._most: Array = r.steps_z.prod(axis=0)
        self._full = Pieces(r.steps_a - 1, r.Ta, r.Tz)
        self._last = Pieces(one, last_least, last_most)
        self._tail = replace(self._last, least=r.own_tail)
        self.all = PieceRun(facts, r, (self._full, self._tail), self._most, every)
        self.first = PieceRun(facts, r, (Pieces(one, r.Ta, r.Tz),), 1.0, no)
        self.last = PieceRun(facts, r, (self._last,), 1.0, no)

    def some(self, name: str, which: int) -> Words:
        """Return the cycles of the pieces but for one end of a loop, or both ends."""
        along, steps = self._facts.among(name), self._r.steps_a
        full = np.where(along & (which != BUT_LAST), np.maximum(steps - 2, 0), steps - 1)
        last = np.where(along, (steps > 1) & (which == BUT_FIRST), 1.0)
        least = np.where(along, self._last.least, self._tail.least)
        pieces = replace(self._full, count=full), replace(self._last, count=last, least=least)
        return PieceRun(self._facts, self._r, pieces, self._most, ~along).cycles


class PieceRun:
    """Some pieces, one after the other.

    Args:
        facts: of the space.
        r: the ranges of the boxes.
        pieces: which.
        most: transfers each way, at most.
        complete: bool[L, 1], the loops along which these are all pieces.
    """

    def __init__(
        self, facts: Facts, r: Ranges, pieces: tuple[Pieces, ...], most: Words, complete: Flags
    ) -> None:
        self._facts, self._r, self._pieces = facts, r, pieces
        self._complete = complete
        self._count: Array = reduce(operator.add, (each.count for each in pieces))
        self._number: Array = self._count.prod(axis=0)
        self._transfers = Transfers(facts, self._number, most, most)
        self._along: dict[int, tuple[Array, Array]] = {}

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
        first = self._sum(lambda each: np.minimum(self._r.ta, each.least))
        return self._working(first, self._count)

    @property
    def ended(self) -> Words:
        """Return the cycles in which it works in the last step of each piece."""
        last = self._sum(lambda each: np.minimum(self._r.ta, self._last(each)))
        return self._working(last, self._count)

    def steps_along(self, name: str, which: int) -> Words:
        """Return the cycles in which it works in the steps but for one end of a loop, or both."""
        if which not in self._along:
            self._along[which] = (
                self._sum(lambda each: self._indices_but(which, each.least)),
                self._sum(lambda each: self._steps_but(which, each.least)),
            )
        row = self._facts.rows[name]
        indices, steps = self._indices.copy(), self._steps.copy()
        indices[row], steps[row] = (along[row] for along in self._along[which])
        return self._working(indices, steps)

    def beside_tiles(self, of_filter: Words, of_output: Words, transfers: Transfers) -> Words:
        """Return the cycles if a step for each tile of a tensor is a transfer (lemma 19)."""
        largest: Array = self._facts.whole * self._r.tz.prod(axis=0)
        step = ceil_div(largest, self._facts.hardware.simd_lanes)
        spared = {axes: (self._most_tiles(axes) - self._number) * step for axes in (FILTER, OUTPUT)}
        comes = transfers.cycles(of_filter + self._first_inputs) + self.drains - spared[FILTER]
        leaves = self.fills + transfers.cycles(of_output) - spared[OUTPUT]
        return self.computing + np.maximum(comes, leaves)

    def _most_tiles(self, axes: str) -> Array:
        """Return the tiles of a tensor in all pieces, at most."""
        r = self._r
        of_piece = np.where(self._facts.among(axes), r.piece_steps_z, 1.0)
        tiles: Array = (r.steps_z * of_piece).prod(axis=0)
        return tiles

    @cached_property
    def _indices(self) -> Array:
        r = self._r
        return self._sum(lambda each: r.unit_indices_in(each.least), np.ceil(r.own / r.n1z))

    @cached_property
    def _steps(self) -> Array:
        r = self._r
        return self._sum(lambda each: r.steps_in(each.least), np.ceil(r.own / (r.tz * r.n1z)))

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
        macs: Array = self._facts.whole * indices.prod(axis=0)
        at_least: Array = steps.prod(axis=0)
        return np.maximum(ceil_div(macs, self._facts.hardware.simd_lanes), at_least)

    @cached_property
    def fills(self) -> Words:
        """Return the cycles of the first fetch of each piece."""
        filters = product(self._first_array, FILTER) * product(self._counts, others(FILTER))
        return self._transfers.cycles(self._first_inputs + filters)

    @cached_property
    def drains(self) -> Words:
        """Return the cycles in which the last outputs of each of the pieces leave."""
        last = self._facts.tile(self._sum(self._last))
        return self._transfers.cycles(product(last, OUTPUT) * product(self._counts, others(OUTPUT)))

    @cached_property
    def _first_inputs(self) -> Words:
        """Return the words of the input in the first fetches."""
        first, inputs = (
            self._first_array,
            product(self._first_array, INPUT) * product(self._counts, "K"),
        )
        for p, w in WINDOWS.items():
            touched = self._touched(p, w)
            inputs = inputs * (first[p] * touched + product(self._counts, p) * (first[w] - touched))
        return inputs

    def _touched(self, p: str, w: str) -> Words:
        """Return the rows that an output adds in the first steps, over the pieces of its window."""
        facts, r = self._facts, self._r
        if w not in facts.rows:
            return facts.step[p]
        stride = facts.stride[p]
        touched = self._sum(lambda each: np.minimum(stride, r.first_array_in(each.least)))
        return np.asarray(touched[facts.rows[w]])

    @cached_property
    def _first_array(self) -> Tile:
        """Indices of the array in the first step of each piece."""
        return self._facts.tile(self._sum(lambda each: self._r.first_array_in(each.least)))

    @cached_property
    def _counts(self) -> Tile:
        """Pieces along each loop."""
        return dict(zip(self._facts.rows, self._count, strict=True))

    def _last(self, each: Pieces) -> Array:
        """Return the indices of the array in the last step of a piece."""
        r = self._r
        steps = r.steps_in(each.least)
        rest = np.maximum(each.least - (steps - 1) * r.tz * r.n1z, 1.0)
        return np.where(steps == ceil_div(each.most, r.ta * r.n1a), rest, 1.0)

    def _sum(self, of_piece: Callable[[Pieces], Array], of_all: Array | None = None) -> Array:
        """Return a sum over the pieces; over all pieces of a loop it is no less than ``of_all``."""
        total: Array = reduce(operator.add, (each.count * of_piece(each) for each in self._pieces))
        return (
            total if of_all is None else np.where(self._complete, np.maximum(total, of_all), total)
        )
