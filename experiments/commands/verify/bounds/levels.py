"""What a box costs at least, by the innermost loop of either level (docs/optimum.md, 5 and 6)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from maestro_env.experiments.commands.verify.bounds.boxes import (
    NONE,
    TOGETHER,
    Array,
    Facts,
    Flags,
    Needs,
    Table,
    Words,
    ceil_div,
    least_needs,
    may_fit,
)
from maestro_env.experiments.commands.verify.bounds.cluster import Cluster
from maestro_env.experiments.commands.verify.bounds.sides import (
    Ranges,
    Side,
    inner_side,
    outer_side,
)
from maestro_env.experiments.commands.verify.bounds.traffic import Lockstep, SideTraffic, Transfers

_SETS = [each for size in (1, 2, 3) for each in combinations(range(3), size)]


@dataclass(frozen=True)
class Costs:
    """What a level adds, by its innermost loop.

    Attributes:
        l1: accesses of L1, but for operands.
        noc: words that its units take in and send up.
        cycles: of the outer level those of the box, whatever the inner level does; of the inner
            level those of the first cluster.
        l2, offchip: accesses of L2 and words to and from main memory, by the outer level.
    """

    l1: Words
    noc: Words
    cycles: Words
    l2: Words = 0.0
    offchip: Words = 0.0


class _Level:
    """A level of boxes, as its array and as its units see it."""

    def __init__(self, facts: Facts, r: Ranges, cluster: Cluster, *sides: Side) -> None:
        self._facts, self._r, self._cluster = facts, r, cluster
        self._array, self._units = (SideTraffic(facts, side) for side in sides)

    def _taken_in(self, innermost: str | None) -> Words:
        """Return the words that units take in, no fewer than the array fetches (lemma 14)."""
        inputs, filters, _ = self._array.words(innermost)
        of_input, of_filter, _ = self._units.words(innermost)
        return np.maximum(of_input, inputs) + np.maximum(of_filter, filters)


class OuterLevel(_Level):
    """The outer level of boxes."""

    def __init__(self, facts: Facts, r: Ranges, cluster: Cluster, needs: Needs) -> None:
        super().__init__(facts, r, cluster, *(outer_side(facts, r, u) for u in (False, True)))
        self._needs = needs

    def costs(self, innermost: str | None, cycles: bool) -> Costs:
        """Return the least costs if this loop moves innermost; cycles only if asked for."""
        inputs, filters, leaving = self._array.words(innermost)
        taken_in, output_words = self._taken_in(innermost), self._facts.words[2]
        offchip = self._offchip((inputs, filters, 2 * leaving - output_words))
        l2 = inputs + filters + 2 * leaving - output_words + offchip
        time = self._cycles(innermost, offchip) if cycles else 0.0
        return Costs(taken_in, taken_in + leaving, time, l2, offchip)

    @property
    def exposed(self) -> Words:
        """Return the cycles of the first fill and the last drain, which nothing overlaps."""
        fill, drain, offchip = self._ends
        return offchip + fill + drain

    def _cycles(self, innermost: str | None, offchip: Words) -> Words:
        return np.maximum(
            ceil_div(offchip, self._facts.hardware.offchip_bw),
            self._ends[2] + self._lockstep.cycles(self._array, innermost),
        )

    @cached_property
    def _ends(self) -> tuple[Words, Words, Words]:
        """Return the cycles of the first fill, the last drain, and both off-chip."""
        facts, offchip_bw = self._facts, self._facts.hardware.offchip_bw
        inputs, filters, _ = facts.tile_words(facts.tile(self._r.array_a))
        _, _, leaving = facts.tile_words(facts.tile(self._r.last_array_a))
        offchip = ceil_div(inputs + filters, offchip_bw) + ceil_div(leaving, offchip_bw)
        one = Transfers(facts, 1.0, 1.0, 1.0)
        return one.cycles(inputs + filters), one.cycles(leaving), offchip

    @cached_property
    def _lockstep(self) -> Lockstep:
        """Return the level's steps, which are the first cluster's pieces."""
        fill, drain, _ = self._ends
        begun, ended = self._cluster.first.cycles, self._cluster.last.cycles
        transfers = Transfers(self._facts, 0.0, self._r.steps_z.prod(axis=0), 1.0)
        return Lockstep(fill, drain, begun, ended, transfers, self._cluster.some)

    def _offchip(self, streams: tuple[Words, Words, Words]) -> Words:
        """Return the least off-chip words of any set of tensors that may stay in L2 (lemma 16)."""
        saved = [stream - words for stream, words in zip(streams, self._facts.words, strict=True)]
        most: Words = 0.0
        for kept, fits in self._resident.items():
            most = np.maximum(most, np.where(fits, sum(saved[tensor] for tensor in kept), 0.0))
        return streams[0] + streams[1] + streams[2] - most

    @cached_property
    def _resident(self) -> dict[tuple[int, ...], Flags]:
        """Sets of tensors, and in which boxes they may stay in L2."""
        needs, facts = self._needs, self._facts
        more = [words - own for words, own in zip(facts.words, needs.streamed, strict=True)]
        of_set = {kept: needs.l2 + sum(more[tensor] for tensor in kept) for kept in _SETS}
        fit = {kept: words <= facts.l2_words for kept, words in of_set.items()}
        return {kept: fits for kept, fits in fit.items() if fits.any()}


class InnerLevel(_Level):
    """The inner level of boxes."""

    def __init__(self, facts: Facts, r: Ranges, cluster: Cluster) -> None:
        super().__init__(facts, r, cluster, *(inner_side(facts, r, u) for u in (False, True)))

    def costs(self, innermost: str | None, cycles: bool) -> Costs:
        """Return the least costs if this loop moves innermost; cycles only if asked for."""
        inputs, filters, leaving = self._array.words(innermost)
        taken_in = self._taken_in(innermost)
        l1 = taken_in + inputs + filters + 2 * leaving
        return Costs(l1, taken_in + leaving, self._cycles(innermost) if cycles else 0.0)

    def _cycles(self, innermost: str | None) -> Words:
        return np.maximum(self._of_any_order, self._lockstep.cycles(self._own, innermost))

    @cached_property
    def _own(self) -> SideTraffic:
        """Return the words of the first cluster's array."""
        return SideTraffic(self._facts, inner_side(self._facts, self._r, units=False, own=True))

    @cached_property
    def _lockstep(self) -> Lockstep:
        """Return the steps of the first cluster in all its pieces."""
        r, run = self._r, self._cluster.all
        most: Array = (r.steps_z * r.piece_steps_z).prod(axis=0)
        transfers = Transfers(self._facts, 0.0, most, r.steps_z.prod(axis=0))
        return Lockstep(run.fills, run.drains, run.begun, run.ended, transfers, run.steps_along)

    @cached_property
    def _of_any_order(self) -> Words:
        """Return the first cluster's cycles, whatever moves innermost."""
        run, (_, filters, outputs) = self._cluster.all, self._own.words(None)
        return np.maximum(run.cycles, run.beside_tiles(filters, outputs, self._lockstep.transfers))


def lower_bounds(facts: Facts, factors: tuple[str, ...], boxes: Table) -> Array:
    """Return float64[N]: no mapping of a box costs less; infinite if it has none that fits."""
    bounds = np.full(len(boxes), np.inf)
    fit = np.flatnonzero(may_fit(facts, boxes))
    for start in range(0, len(fit), TOGETHER):
        some = fit[start : start + TOGETHER]
        bounds[some] = _bounds(facts, factors, boxes[some])
    return bounds


def _bounds(facts: Facts, factors: tuple[str, ...], boxes: Table) -> Array:
    """Return the least over the pairs of innermost loops (lemma 23)."""
    r, latency = Ranges(facts, boxes), "latency_cycles" in factors
    needs, cluster = least_needs(facts, r.ends), Cluster(facts, r)
    outer_level = OuterLevel(facts, r, cluster, needs)
    levels: tuple[OuterLevel | InnerLevel, ...] = outer_level, InnerLevel(facts, r, cluster)
    of_outer, of_inner = (
        [
            (where, level.costs(None if dim == NONE else facts.names[dim], latency))
            for dim, where in r.innermost(number)
            if where.any()
        ]
        for number, level in enumerate(levels)
    )
    areas, latencies, energies = map(factors.count, ("area_um2", "latency_cycles", "energy_nj"))
    area = _area(facts, needs) ** areas if areas else 1.0
    least = np.full(len(boxes), np.inf)
    for where_outer, outer in of_outer:
        for where_inner, inner in of_inner:
            value: Words = area
            if latency:
                slower = np.maximum(outer_level.exposed + inner.cycles, outer.cycles)
                value = value * slower**latencies
            if energies:
                value = value * _energy(facts, outer, inner) ** energies
            np.minimum(least, value, out=least, where=where_outer & where_inner)
    return least


def _energy(facts: Facts, outer: Costs, inner: Costs) -> Words:
    """Return the energy in nJ (lemma 15)."""
    l1 = 4 * facts.macs + outer.l1 + inner.l1
    of = facts.hardware.energies
    moved = of.noc_macs * (outer.noc + inner.noc) + of.offchip_macs * outer.offchip
    return of.mac_nj * (facts.macs + of.l1_macs * l1 + of.l2_macs * outer.l2 + moved)


def _area(facts: Facts, needs: Needs) -> Array:
    """Return the area of the least buffers (lemma 22)."""
    pes, word, of = facts.hardware.num_pes, facts.hardware.word_bytes, facts.hardware.areas
    if of.pe_um2:
        return pes * (of.pe_um2 + word * needs.l1 * of.l1_um2) + word * needs.l2 * of.l2_um2
    l2 = np.ceil(word * needs.l2 / 32768) * 4161.536
    return pes * 4470 + l2 + np.ceil(word * needs.l1 / 64) * 4505.1889 * pes
