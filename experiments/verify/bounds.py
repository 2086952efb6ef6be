"""A lower bound of what the mappings of each of many boxes cost (docs/optimum.md)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from experiments.verify.boxes import NONE, UNDECIDED, Ends, Table, ends
from experiments.verify.facts import Array, Facts
from experiments.verify.levels import InnerLevel, OuterLevel
from experiments.verify.needs import Needs, least_needs
from experiments.verify.ranges import Ranges

# spec/exact.md, E6 and S9.
_NJ, _L1, _L2 = 0.00023, 1.68, 18.61
# Boxes at a time: their arrays stay in the processor's cache.
_TOGETHER = 2048

Possible = list[tuple[int, NDArray[np.bool_]]]
"""Innermost loops by row (-1: none moves), and in which boxes they are possible."""


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
    """Return the loops that can move innermost in the outer and the inner level.

    They are given as dimensions of the space.
    """
    e = ends(facts, boxes)
    r = Ranges(facts, e)
    outer, inner = _possible(facts, e, r)

    def named(possible: Possible) -> Possible:
        return [(facts.cut[row] if row >= 0 else NONE, where) for row, where in possible]

    return named(outer), named(inner)


def _possible(facts: Facts, e: Ends, r: Ranges) -> tuple[Possible, Possible]:
    levels = (r.steps_a, r.steps_z), (r.box_steps_a, r.box_steps_z)
    found: list[Possible] = []
    for (least, most), decided in zip(levels, e.innermost, strict=True):
        possible: Possible = [(NONE, (least == 1).all(axis=0))]
        possible += [(row, most[row] > 1) for row in range(len(facts.cut))]
        found.append(
            [
                (row, where & ((decided == UNDECIDED) | (decided == _dim(facts, row))))
                for row, where in possible
            ]
        )
    return found[0], found[1]


def _dim(facts: Facts, row: int) -> int:
    return facts.cut[row] if row >= 0 else NONE


def _bounds(facts: Facts, factors: tuple[str, ...], e: Ends, needs: Needs) -> Array:
    r = Ranges(facts, e)
    possible_outer, possible_inner = _possible(facts, e, r)
    latency, energy = "latency_cycles" in factors, "energy_nj" in factors
    if not latency and not energy:
        some = [
            np.any([where for _, where in level], axis=0)
            for level in (possible_outer, possible_inner)
        ]
        return np.where(some[0] & some[1], _area(facts, needs), np.inf)
    names = facts.cut_names
    outer = OuterLevel(facts, e, r, needs)
    inner = InnerLevel(facts, e, r)
    outer_costs, inner_costs = [], []
    for row, where in possible_outer:
        if where.any():
            found = outer.costs(names[row] if row >= 0 else None)
            outer_costs.append((where, found))
    for row, where in possible_inner:
        if where.any():
            inner_costs.append((where, inner.costs(names[row] if row >= 0 else None, latency)))
    ends_ = outer.ends
    exposed = ends_.offchip + ends_.fill + ends_.drain
    least = np.full(len(e.empty), np.inf)
    area = _area(facts, needs) if "area_um2" in factors else 1.0
    cost = facts.hardware.offchip_cost_macs
    for where_outer, o in outer_costs:
        for where_inner, i in inner_costs:
            where = where_outer & where_inner
            value: Array | float = area
            if latency:
                value = value * np.maximum(exposed + i.cycles, o.cycles)
            if energy:
                l1 = 4 * facts.macs + o.l1_accesses + i.l1_accesses
                macs = facts.macs + _L1 * l1 + _L2 * o.l2_accesses + cost * o.offchip
                value = value * (_NJ * macs)
            np.minimum(least, np.where(where, value, np.inf), out=least)
    return least


def _area(facts: Facts, needs: Needs) -> Array:
    """Return the area of the least buffers (lemma 19)."""
    pes = facts.hardware.num_pes
    l2 = np.ceil(needs.l2 / 32768) * 4161.536
    return pes * 4470 + l2 + np.ceil(needs.l1 / 64) * 4505.1889 * pes
