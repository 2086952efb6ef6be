"""A lower bound of what the mappings of each of many boxes cost (docs/optimum.md)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from experiments.commands.verify.boxes import NONE, UNDECIDED, Ends, Table, ends
from experiments.commands.verify.cluster import Cluster
from experiments.commands.verify.facts import Array, Facts
from experiments.commands.verify.levels import InnerCosts, InnerLevel, OuterCosts, OuterLevel
from experiments.commands.verify.needs import Needs, least_needs
from experiments.commands.verify.ranges import Ranges

# Boxes at a time: their arrays stay in the processor's cache.
_TOGETHER = 2048

Possible = list[tuple[int, NDArray[np.bool_]]]
"""Dimensions (-1: none moves), and in which boxes they can move innermost."""


def lower_bounds(facts: Facts, factors: tuple[str, ...], boxes: Table) -> Array:
    """Return float64[N]: no mapping of a box costs less; infinite if it has none that fits."""
    bounds = np.full(len(boxes), np.inf)
    for start in range(0, len(boxes), _TOGETHER):
        some = boxes[start : start + _TOGETHER]
        e = ends(facts, some)
        needs = least_needs(facts, e)
        fits = ~e.empty & needs.fit(facts)
        if fits.all():
            bounds[start : start + len(some)] = _bounds(facts, factors, e, needs)
        elif fits.any():
            kept = ends(facts, some[fits])
            found = _bounds(facts, factors, kept, least_needs(facts, kept))
            bounds[start : start + len(some)][fits] = found
    return bounds


def innermost_loops(facts: Facts, boxes: Table) -> tuple[Possible, Possible]:
    """Return the loops that can move innermost in the outer and the inner level."""
    e = ends(facts, boxes)
    return _possible(facts, e, Ranges(facts, e))


def _possible(facts: Facts, e: Ends, r: Ranges) -> tuple[Possible, Possible]:
    outer, inner = (r.steps_a, r.steps_z), (r.piece_steps_a, r.piece_steps_z)
    return _of_level(facts, *outer, e.innermost[0]), _of_level(facts, *inner, e.innermost[1])


def _of_level(facts: Facts, fewest: Array, most: Array, decided: Table) -> Possible:
    none_moves = NONE, np.all(fewest == 1, axis=0)
    possible = [none_moves, *zip(facts.cut, most > 1, strict=True)]
    return [(dim, where & ((decided == UNDECIDED) | (decided == dim))) for dim, where in possible]


def _bounds(facts: Facts, factors: tuple[str, ...], e: Ends, needs: Needs) -> Array:
    """Return the least over the pairs of innermost loops (lemma 23)."""
    r = Ranges(facts, e)
    cluster = Cluster(facts, r)
    outer, inner = OuterLevel(facts, e, r, needs, cluster), InnerLevel(facts, e, r, cluster)
    latency = "latency_cycles" in factors
    of_outer, of_inner = (
        [(dim, where) for dim, where in level if where.any()] for level in _possible(facts, e, r)
    )
    inner_costs = [
        (where, inner.costs(_name(facts, dim), cycles=latency)) for dim, where in of_inner
    ]
    area = _area(facts, needs) if "area_um2" in factors else 1.0
    least = np.full(len(e.empty), np.inf)
    for dim, where_outer in of_outer:
        o = outer.costs(_name(facts, dim))
        for where_inner, i in inner_costs:
            value: Array | float = area
            if latency:
                value = value * np.maximum(outer.exposed + i.cycles, o.cycles)
            if "energy_nj" in factors:
                value = value * _energy(facts, o, i)
            np.minimum(least, value, out=least, where=where_outer & where_inner)
    return least


def _name(facts: Facts, dim: int) -> str | None:
    return None if dim == NONE else facts.names[dim]


def _energy(facts: Facts, outer: OuterCosts, inner: InnerCosts) -> Array | float:
    """Return the energy in nJ (lemma 15)."""
    l1 = 4 * facts.macs + outer.l1_accesses + inner.l1_accesses
    of = facts.hardware.energies
    moved = of.noc_macs * (outer.noc + inner.noc) + of.offchip_macs * outer.offchip
    return of.mac_nj * (facts.macs + of.l1_macs * l1 + of.l2_macs * outer.l2_accesses + moved)


def _area(facts: Facts, needs: Needs) -> Array:
    """Return the area of the least buffers (lemma 22)."""
    pes, word = facts.hardware.num_pes, facts.hardware.word_bytes
    l2 = np.ceil(word * needs.l2 / 32768) * 4161.536
    return pes * 4470 + l2 + np.ceil(word * needs.l1 / 64) * 4505.1889 * pes
