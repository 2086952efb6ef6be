"""A lower bound of what the mappings of each of many boxes cost (docs/optimum.md)."""

from __future__ import annotations

import numpy as np

from maestro_env.experiments.commands.verify.bounds.boxes import NONE, Array, Facts, Table, Words
from maestro_env.experiments.commands.verify.bounds.cluster import Cluster
from maestro_env.experiments.commands.verify.bounds.levels import Costs, InnerLevel, OuterLevel
from maestro_env.experiments.commands.verify.bounds.needs import (
    TOGETHER,
    Needs,
    least_needs,
    may_fit,
)
from maestro_env.experiments.commands.verify.bounds.sides import Ranges


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
