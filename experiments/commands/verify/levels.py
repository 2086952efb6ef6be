"""What a box costs at least, by the innermost loop of either level (docs/optimum.md, 5 to 7)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from experiments.commands.verify.boxes import Ends
from experiments.commands.verify.cluster import Cluster, Transfers, Words
from experiments.commands.verify.facts import WINDOWS, Array, Facts, ceil_div
from experiments.commands.verify.lockstep import Lockstep, StepEnds
from experiments.commands.verify.needs import Needs
from experiments.commands.verify.ranges import Ranges
from experiments.commands.verify.sides import inner_side, outer_side
from experiments.commands.verify.traffic import Traffic

_SETS = [each for size in (1, 2, 3) for each in combinations(range(3), size)]


@dataclass(frozen=True)
class OuterCosts:
    """What the outer level adds, by its innermost loop.

    Attributes:
        l1_accesses: by clusters that take words in.
        l2_accesses: between L2, array and main memory.
        noc: words that clusters take in and send up.
        offchip: words.
        cycles: of the box, whatever the inner level does.
    """

    l1_accesses: Words
    l2_accesses: Words
    noc: Words
    offchip: Words
    cycles: Words


class OuterLevel:
    """The outer level of boxes.

    Attributes:
        exposed: cycles of the first fill and the last drain, which nothing overlaps.
    """

    def __init__(self, facts: Facts, e: Ends, r: Ranges, needs: Needs, cluster: Cluster) -> None:
        self._facts, self._needs = facts, needs
        whole = _whole(facts, r.Ta)
        self._array = Traffic(facts, outer_side(facts, r, False, e.dealt[0]), whole)
        self._units = Traffic(facts, outer_side(facts, r, True, e.dealt[0]), whole)
        self._ends = _OuterEnds(facts, r)
        self._cluster = cluster
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
        cycles = np.maximum(
            ceil_div(offchip, facts.hardware.offchip_bw),
            self._ends.offchip + self._lockstep.cycles(array, innermost),
        )
        l2 = inputs + filters + 2 * leaving - output_words + offchip
        return OuterCosts(taken_in, l2, taken_in + leaving, offchip, cycles)

    @cached_property
    def _lockstep(self) -> Lockstep:
        """Return the level's steps, which are the first cluster's pieces."""
        e, cluster = self._ends, self._cluster
        ends = StepEnds(e.fill, e.drain, cluster.first.cycles, cluster.last.cycles)
        return Lockstep(ends, Transfers(self._facts, self._most_steps, 1.0), cluster.some)

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
            fits = needs.l2 + sum(more[tensor] for tensor in kept) <= facts.l2_words
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
        noc: words that PEs take in and send up.
        cycles: of the first cluster.
    """

    l1_accesses: Words
    noc: Words
    cycles: Words


class InnerLevel:
    """The inner level of boxes."""

    def __init__(self, facts: Facts, e: Ends, r: Ranges, cluster: Cluster) -> None:
        whole = _whole(facts, r.ta)
        self._array = Traffic(facts, inner_side(facts, r, False, e.dealt[1]), whole)
        self._units = Traffic(facts, inner_side(facts, r, True, e.dealt[1]), whole)
        self._own = Traffic(facts, inner_side(facts, r, False, e.dealt[1], own=True), whole)
        self._run = run = cluster.all
        ends = StepEnds(run.fills, run.drains, run.begun, run.ended)
        pieces: Array = r.steps_z.prod(axis=0)
        self._transfers = Transfers(facts, (r.steps_z * r.piece_steps_z).prod(axis=0), pieces)
        self._lockstep = Lockstep(ends, self._transfers, run.steps_along)

    def costs(self, innermost: str | None, cycles: bool) -> InnerCosts:
        """Return the least costs if this loop moves innermost; cycles only if asked for."""
        array, units = self._array, self._units
        inputs, filters = array.inputs(innermost), array.filters(innermost)
        taken_in = np.maximum(units.inputs(innermost), inputs)
        taken_in = taken_in + np.maximum(units.filters(innermost), filters)
        leaving = array.outputs(innermost)
        l1 = taken_in + inputs + filters + 2 * leaving
        return InnerCosts(l1, taken_in + leaving, self._cycles(innermost) if cycles else 0.0)

    def _cycles(self, innermost: str | None) -> Words:
        """Return the first cluster's cycles."""
        return np.maximum(self._of_any_order, self._lockstep.cycles(self._own, innermost))

    @cached_property
    def _of_any_order(self) -> Words:
        """Return the first cluster's cycles, whatever moves innermost."""
        own, run = self._own, self._run
        tiles = run.beside_tiles(own.filters(None), own.outputs(None), self._transfers)
        return np.maximum(run.cycles, tiles)


def _whole(facts: Facts, least: Array) -> NDArray[np.bool_]:
    """Say in which boxes no tile cuts a window."""
    whole = np.ones(least.shape[1], dtype=bool)
    for name in WINDOWS.values():
        if name in facts.cut_names:
            whole &= least[facts.cut_names.index(name)] == facts.extent[name]
    return whole
