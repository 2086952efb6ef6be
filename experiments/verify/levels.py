"""What a box costs at least, by the innermost loop of either level (docs/optimum.md, 5 to 7)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from experiments.verify.boxes import Ends
from experiments.verify.facts import FILTER, LOOPS, OUTPUT, WINDOWS, Array, Facts, Tile, ceil_div
from experiments.verify.needs import Needs
from experiments.verify.ranges import Ranges
from experiments.verify.sides import inner_side, outer_side
from experiments.verify.traffic import Traffic, Words

_SETS = [each for size in (1, 2, 3) for each in combinations(range(3), size)]


@dataclass(frozen=True)
class OuterCosts:
    """What the outer level adds, by its innermost loop.

    Attributes:
        l1_accesses: by clusters that take words in.
        l2_accesses: between L2, array and main memory.
        offchip: words.
        cycles: of the box, whatever the inner level does.
    """

    l1_accesses: Words
    l2_accesses: Words
    offchip: Words
    cycles: Words


class OuterLevel:
    """The outer level of boxes.

    Attributes:
        exposed: cycles of the first fill and the last drain, which nothing overlaps.
    """

    def __init__(self, facts: Facts, e: Ends, r: Ranges, needs: Needs) -> None:
        self._facts, self._needs = facts, needs
        whole = _whole(facts, r.Ta)
        self._array = Traffic(facts, outer_side(facts, r, False, e.dealt[0]), whole)
        self._units = Traffic(facts, outer_side(facts, r, True, e.dealt[0]), whole)
        self._ends = _OuterEnds(facts, r)
        self._most_steps: Array = r.steps_z.prod(axis=0)
        self.exposed = self._ends.offchip + self._ends.fill + self._ends.drain

    def costs(self, innermost: str | None) -> OuterCosts:
        """Return the least costs if this loop moves innermost."""
        array, units, facts = self._array, self._units, self._facts
        inputs, filters, leaving = (
            array.inputs(innermost),
            array.filters(innermost),
            array.outputs(innermost),
        )
        taken_in = np.maximum(units.inputs(innermost), inputs)
        taken_in = taken_in + np.maximum(units.filters(innermost), filters)
        output_words = facts.words[2]
        offchip = self._offchip((inputs, filters, 2 * leaving - output_words))
        e = self._ends
        cycles = ceil_div(offchip, facts.hardware.offchip_bw)
        fetching = e.offchip + _passing(facts, inputs + filters, self._most_steps) + e.drain
        sending = e.offchip + e.fill + _passing(facts, leaving, self._most_steps)
        cycles = np.maximum(cycles, np.maximum(fetching, sending))
        l2 = inputs + filters + 2 * leaving - output_words + offchip
        return OuterCosts(taken_in, l2, offchip, cycles)

    def _offchip(self, streams: tuple[Words, Words, Words]) -> Words:
        """Return the least off-chip words of any set of tensors that may stay in L2 (lemma 16)."""
        saved = [stream - words for stream, words in zip(streams, self._facts.words, strict=True)]
        most: Words = 0.0
        for kept, fits in self._resident:
            most = np.maximum(most, np.where(fits, sum(saved[tensor] for tensor in kept), 0.0))
        return streams[0] + streams[1] + streams[2] - most

    @cached_property
    def _resident(self) -> list[tuple[tuple[int, ...], NDArray[np.bool_]]]:
        """Sets of tensors, and in which boxes they may stay in L2."""
        needs, facts = self._needs, self._facts
        more = [words - own for words, own in zip(facts.words, needs.streamed, strict=True)]
        sets = []
        for kept in _SETS:
            fits = needs.l2 + sum(more[tensor] for tensor in kept) <= facts.hardware.l2_bytes
            if fits.any():
                sets.append((kept, fits))
        return sets


class _OuterEnds:
    """Cycles, at least, of the first fill and the last drain.

    Attributes:
        fill, drain: on the network.
        offchip: both, to and from main memory.
    """

    def __init__(self, facts: Facts, r: Ranges) -> None:
        hardware = facts.hardware
        first, last = (
            facts.tile_words(dict(facts.extent) | dict(zip(facts.cut_names, rows, strict=True)))
            for rows in (r.array_a, r.last_array_a)
        )
        fetched, leaving = np.asarray(first[0] + first[1]), np.asarray(last[2])
        once = hardware.noc_latency - 1
        self.fill = once + ceil_div(fetched, hardware.noc_bw)
        self.drain = once + ceil_div(leaving, hardware.noc_bw)
        offchip = hardware.offchip_bw
        self.offchip = ceil_div(fetched, offchip) + ceil_div(leaving, offchip)


@dataclass(frozen=True)
class InnerCosts:
    """What the inner level adds, by its innermost loop.

    Attributes:
        l1_accesses: of clusters and PEs, but for operands.
        cycles: of the first cluster.
    """

    l1_accesses: Words
    cycles: Words


class InnerLevel:
    """The inner level of boxes."""

    def __init__(self, facts: Facts, e: Ends, r: Ranges) -> None:
        self._facts, self._r = facts, r
        whole = _whole(facts, r.ta)
        self._array = Traffic(facts, inner_side(facts, r, False, e.dealt[1]), whole)
        self._units = Traffic(facts, inner_side(facts, r, True, e.dealt[1]), whole)
        self._own = Traffic(facts, inner_side(facts, r, False, e.dealt[1], own=True), whole)
        self._most_steps: Array = (r.steps_z * r.piece_steps_z).prod(axis=0)

    def costs(self, innermost: str | None, cycles: bool) -> InnerCosts:
        """Return the least costs if this loop moves innermost; cycles only if asked for."""
        array, units = self._array, self._units
        inputs, filters = array.inputs(innermost), array.filters(innermost)
        taken_in = np.maximum(units.inputs(innermost), inputs)
        taken_in = taken_in + np.maximum(units.filters(innermost), filters)
        l1 = taken_in + inputs + filters + 2 * array.outputs(innermost)
        return InnerCosts(l1, self._cycles(innermost) if cycles else 0.0)

    def _cycles(self, innermost: str | None) -> Words:
        """Return the first cluster's cycles (lemma 17, 1 and 2)."""
        cycles = self._fills + self._drains + self._computing
        own, facts = self._own, self._facts
        words = own.inputs(innermost) + own.filters(innermost)
        fetching = _passing(facts, words, self._most_steps)
        sending = _passing(facts, own.outputs(innermost), self._most_steps)
        cycles = np.maximum(cycles, fetching + self._drains)
        return np.maximum(cycles, sending + self._fills)

    @cached_property
    def _computing(self) -> Words:
        """Return the cycles in which the first PE works: its MACs, or one a step."""
        r, facts = self._r, self._facts
        indices = np.maximum(r.over_own(r.unit_indices_in), np.ceil(r.own / r.n1z))
        whole = math.prod(facts.extent[name] for name in facts.whole_names)
        macs: Array = indices.prod(axis=0) * whole
        in_pieces = r.over_own(r.steps_in, np.ceil(r.own / (r.tz * r.n1z)))
        steps: Array = in_pieces.prod(axis=0)
        return np.maximum(ceil_div(macs, facts.hardware.simd_lanes), steps)

    @cached_property
    def _fills(self) -> Words:
        """Return the cycles of the first fetch of each of the first cluster's pieces."""
        r, facts = self._r, self._facts
        first = r.over_own(r.first_array_in)
        sums = dict(facts.extent) | dict(zip(facts.cut_names, first, strict=True))
        count = self._counts(r.steps_a)
        inputs = _product(sums, "NGC") * count["K"]
        for p, w in WINDOWS.items():
            inputs = inputs * self._first_rows(p, w, sums, count)
        filters = _product(sums, FILTER) * _product(count, _others(FILTER))
        return self._transfers(inputs + filters)

    def _first_rows(self, p: str, w: str, sums: Tile, count: Tile) -> Words:
        """Return the rows of the first fetch of each piece, summed over own pieces of two loops."""
        facts, r = self._facts, self._r
        touched: Words = facts.step[p]
        if w in facts.cut_names:
            row = facts.cut_names.index(w)
            touched = r.over_own(lambda x: np.minimum(facts.stride[p], r.first_array_in(x)))[row]
        return sums[p] * touched + count[p] * (sums[w] - touched)

    @cached_property
    def _drains(self) -> Words:
        """Return the cycles in which the last outputs of each of the pieces leave."""
        r, facts = self._r, self._facts
        last = (r.steps_a - 1) * r.last_array_in(r.Ta) + r.own_last_array
        sums = dict(facts.extent) | dict(zip(facts.cut_names, last, strict=True))
        count = self._counts(r.steps_a)
        return self._transfers(_product(sums, OUTPUT) * _product(count, _others(OUTPUT)))

    def _transfers(self, words: Words) -> Words:
        """Return the cycles of one transfer for each piece, of so many words in all."""
        hardware, r = self._facts.hardware, self._r
        cycles = _passing(self._facts, words, r.steps_z.prod(axis=0))
        if hardware.noc_latency < 1:
            return cycles
        pieces: Array = r.steps_a.prod(axis=0)
        return (hardware.noc_latency - 1) * pieces + np.maximum(pieces, cycles)

    def _counts(self, rows: Array) -> Tile:
        counts: Tile = dict.fromkeys(LOOPS, 1.0)
        return counts | dict(zip(self._facts.cut_names, rows, strict=True))


def _whole(facts: Facts, least: Array) -> NDArray[np.bool_]:
    """Say in which boxes no tile cuts a window."""
    whole = np.ones(least.shape[1], dtype=bool)
    for name in WINDOWS.values():
        if name in facts.cut_names:
            whole &= least[facts.cut_names.index(name)] == facts.extent[name]
    return whole


def _passing(facts: Facts, words: Words, most: Array) -> Words:
    """Return the cycles in which words pass the network in so many transfers at most.

    Each takes the latency - 1 longer than its words, rounded up: a cycle less without latency.
    """
    cycles = ceil_div(words, facts.hardware.noc_bw)
    return cycles if facts.hardware.noc_latency >= 1 else np.maximum(0.0, cycles - most)


def _others(names: str) -> str:
    return "".join(name for name in LOOPS if name not in names)


def _product(tile: Tile, names: str) -> Words:
    result: Words = 1.0
    for name in names:
        result = result * tile[name]
    return result
