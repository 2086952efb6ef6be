"""Lower bounds of what any mapping costs on an accelerator (docs/spec/hierarchy.md, H10)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from maestro_env.accelerators.elements import TENSORS, MemoryElement
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.hierarchy.cost_floors import OUTPUT, CostFloors, Limit, Values, least_steps
from maestro_env.hierarchy.evaluation import Conventions, HierarchyEvaluator
from maestro_env.hierarchy.shape import Shape
from maestro_env.workloads.layer import Layer

MISSING = (("K",), ("N", "P", "Q"), ("C", "R", "S"))
"""Dimensions that inputs, filters and outputs do not have; inputs lack none of a window."""

# Sizes of tiles that a bound tells apart.
_SIZES = 2048
_DEFAULT = Conventions()


@dataclass(frozen=True)
class LeastMoved:
    """Words of one tensor that any mapping moves between two memories, or a memory and ``mac``.

    Args:
        tensor: input, filter or output.
        parent: name of the outer memory.
        child: name of the inner memory, or mac.
        parent_words: read at all instances of the parent at least; of outputs, arriving there.
        child_words: taken in by all instances of the child at least; of outputs, leaving them.
    """

    tensor: str
    parent: str
    child: str
    parent_words: float
    child_words: float


@dataclass(frozen=True)
class Bounds:
    """What no mapping that fits costs less than, but for rounding.

    Infinite where it is known that no mapping fits.

    Args:
        latency_cycles: of any mapping.
        energy_nj: likewise.
        compute_cycles: of the MACs, and of outputs after their last MAC.
        port_cycles: of the port that has the most to move, for all its bits.
        traffic: words between each pair of consecutive holders.
    """

    latency_cycles: float
    energy_nj: float
    compute_cycles: float
    port_cycles: float
    traffic: tuple[LeastMoved, ...]

    @property
    def edp_cycles_nj(self) -> float:
        """Latency times energy."""
        return self.latency_cycles * self.energy_nj


def lower_bound(
    layer: Layer | Shape, hierarchy: Hierarchy, conventions: Conventions = _DEFAULT
) -> Bounds:
    """Return what no mapping of a layer on an accelerator beats.

    Args:
        layer: or its loops alone.
        hierarchy: the accelerator.
        conventions: for comparisons with other tools.

    Raises:
        LayerError: a transposed layer, or one too large to be counted.
    """
    floors = CostFloors(HierarchyEvaluator(layer, hierarchy, conventions))
    moved = floors.moved()
    fresh, fresh_of_first = floors.fresh()
    count = len(floors.boundaries)
    everywhere = np.ones((count, 2))
    per_instance = 1 / np.array([[each.parents, each.children] for each in floors.boundaries])
    energy = _least(floors, floors.energy_prices, floors.flows(*moved, fresh), everywhere)
    flows = floors.flows(*floors.of_first(), fresh_of_first)
    ports = [_least(floors, prices, flows, per_instance) for prices in floors.port_prices]
    compute = _compute_cycles(floors)
    one = np.ones((count, 1))
    latency = floors.latency_cycles(
        np.array([compute]), np.array(ports).reshape(len(ports), 1), (one, one)
    )
    names = [*hierarchy.names, "mac"]
    traffic = tuple(
        LeastMoved(TENSORS[each.tensor], names[each.parent], names[each.child], *words)
        for each, *words in zip(
            floors.boundaries, moved[0][:, 0].tolist(), moved[1][:, 0].tolist(), strict=True
        )
        if isinstance(hierarchy.elements[each.parent], MemoryElement)
    )
    return Bounds(
        latency_cycles=float(latency[0]),
        energy_nj=float(floors.energy_nj(np.array([energy]), latency)[0]),
        compute_cycles=compute,
        port_cycles=max(ports, default=0.0),
        traffic=traffic,
    )


def _compute_cycles(floors: CostFloors) -> float:
    hierarchy = floors.evaluator.hierarchy
    macs = math.ceil(_least_share(floors, floors.size) / hierarchy.mac.simd)
    finish = sum(
        each.finish_cycles for each in hierarchy.elements if isinstance(each, MemoryElement)
    )
    outputs = {dim: size for dim, size in floors.size.items() if dim not in MISSING[OUTPUT]}
    return macs + (finish * _least_share(floors, outputs) if finish else 0.0)


def _least_share(floors: CostFloors, size: Mapping[str, int]) -> int:
    """Return what one unit has of some dimensions at least (H10.5)."""
    spatial = {dim for dims in floors.spatial.values() for dim in dims}
    extents = sorted(size[dim] for dim in size if dim in spatial)
    # One unit works through all others.
    alone = math.prod(size[dim] for dim in size if dim not in spatial)
    units = math.prod(
        min(size_of, math.prod(most[dim] for dim in most if dim in size))
        for size_of, most in floors.fanouts
    )
    return alone * least_steps(extents, min(units, floors.macs))


def _least(floors: CostFloors, prices: Values, flows: Values, shares: Values) -> float:
    """Return the least cost of all accesses, child by child.

    Args:
        floors: what is known of the words.
        prices: of an access of each kind, float64[B, 5].
        flows: the least accesses of each kind, float64[B, 5, 1].
        shares: of the MACs below the parents and the children that count, float64[B, 2].
    """
    compulsory = (prices * flows[:, :, 0]).sum(axis=1)
    # Of one word at the parent, and of one at the child.
    one, none = np.ones((len(prices), 1)), np.zeros((len(prices), 1))
    fresh = none[:, 0] if floors.evaluator.conventions.psum == "bias" else one[:, 0]
    of_parent = (prices * floors.flows(one, none, fresh)[:, :, 0]).sum(axis=1)
    of_child = (prices * floors.flows(none, one, fresh)[:, :, 0]).sum(axis=1)
    total = 0.0
    for child in {each.child for each in floors.boundaries}:
        chosen = [b for b, each in enumerate(floors.boundaries) if each.child == child]
        per_mac = [0.0] * len(TENSORS)
        for b in chosen:
            boundary = floors.boundaries[b]
            per_mac[boundary.tensor] += (
                of_parent[b] * shares[b, 0] / boundary.sharers + of_child[b] * shares[b, 1]
            )
        total += max(compulsory[chosen].sum(), floors.macs * _least_per_mac(floors, child, per_mac))
    return float(total)


def _least_per_mac(floors: CostFloors, child: int, costs: list[float]) -> float:
    """Return the least cost of words that enter a memory, per MAC (H10.7).

    The costs are those of a word of each tensor.
    """
    size = floors.size
    if size["R"] * size["S"] > 1 or child == len(floors.evaluator.hierarchy.elements):
        return 0.0
    extents = [math.prod(size[dim] for dim in dims) for dims in MISSING]
    return min(
        _least_if_moves(extents, costs, child, floors.limits, moving)
        for moving in range(len(TENSORS))
    )


def _least_if_moves(
    extents: list[int], costs: list[float], child: int, limits: list[Limit], moving: int
) -> float:
    """Return the same if dimensions that one tensor lacks move, whose tiles may then have size 1.

    Tensor t's tile has the sizes of the two other tensors' missing dimensions.
    """
    one, two = (t for t in range(len(TENSORS)) if t != moving)
    edges = np.unique(np.geomspace(1, extents[one], _SIZES).astype(np.int64))
    # Missing dimensions of the first of the two have a size from `low` to `high`.
    low, high = edges.astype(float), np.append(edges[1:] - 1, extents[one]).astype(float)
    most = np.full(len(low), float(extents[two]))
    for limit in limits:
        width = [0.0] * len(TENSORS)
        for tile in limit.tiles:
            if tile.element == child:
                width[tile.tensor] = tile.bits_per_word
        per_size = width[one] + width[moving] * low
        left = limit.bits - width[two] * low
        fits = np.divide(left, per_size, out=np.where(left >= 0, np.inf, 0.0), where=per_size > 0)
        most = np.minimum(most, np.floor(fits))
    costs_of = np.full(len(low), np.inf)
    possible = most >= 1
    costs_of[possible] = costs[one] / high[possible] + costs[two] / most[possible]
    return float(costs_of.min())
