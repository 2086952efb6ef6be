"""Why a mapping costs what it does under the model ``hierarchy`` (docs/spec/hierarchy.md)."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from maestro_env.accelerators.elements import TENSORS, Element, FanoutElement, MemoryElement
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.accelerators.loop_rules import INDEXING
from maestro_env.base.errors import MappingError, MapSpaceError, printable
from maestro_env.evaluation.hierarchy_problem import HierarchyProblem
from maestro_env.evaluation.objectives import OBJECTIVES, Objective, find_objective
from maestro_env.explanation.bottleneck import (
    Bottleneck,
    Utilization,
    bottleneck_among,
    utilization_of,
)
from maestro_env.explanation.neighbours import Neighbour, find_neighbours
from maestro_env.explanation.text import (
    bound_lines,
    cycle_lines,
    energy_lines,
    neighbour_lines,
    reuse_lines,
    table,
)
from maestro_env.explanation.traffic import Energy, Stage, Traffic, energy_of, reuse_of, traffic_of
from maestro_env.hierarchy.bounds import Bounds, lower_bound
from maestro_env.hierarchy.cost_floors import tensor_words
from maestro_env.hierarchy.evaluation import (
    Conventions,
    Fill,
    HierarchyCost,
    HierarchyEvaluator,
    NestMapping,
    fills_of,
)
from maestro_env.hierarchy.shape import cuts_of, units_of
from maestro_env.hierarchy.written import nest_lines
from maestro_env.mapspace.hierarchy_space import HierarchySpace
from maestro_env.workloads.layer import Layer

NEST_PARTS = {
    "first_fill": "first tiles travel inwards, memory by memory",
    "refill": "further tiles of outputs wait for a share of that",
    "compute": "the unit with the largest tiles works, step by step",
    "finish": "outputs take their cycles after their last MACs",
    "port_wait": "the busiest port takes longer than that",
    "last_drain": "last outputs travel outwards",
}
"""Parts of the latency, and what happens in them (H6)."""

_COMPUTE = "compute"
_SOMETIMES = ("refill", "finish")
# Fields of elements that cost time: what they are called, and the value that costs none.
_LIMITS: Mapping[str, tuple[str, Any]] = {
    "bw": ("bandwidth", None),
    "read_bw": ("read bandwidth", None),
    "write_bw": ("write bandwidth", None),
    "cache": ("cache misses", None),
    "launch_cycles": ("launches", 0.0),
}


@dataclass(frozen=True)
class HierarchyExplanation:
    """Why a valid mapping costs what it does; ``print(explanation)`` shows it.

    Args:
        evaluator: of the layer and the accelerator.
        mapping: what is explained.
        objective: by which neighbours are judged.
        cost: of the mapping.
        bottleneck: what bounds its latency: compute, or ports of memories.
        cycles: by part of ``NEST_PARTS``; they add up to the latency. ``refill`` and
            ``finish`` only where there are some.
        port_cycles: that each limit of a port alone takes, by the names of ``bottleneck``.
        utilization: of the MACs, and where it is lost.
        traffic: accesses of each physical memory, from the innermost.
        energy: of MACs, memories and fan-outs, from the innermost; those without energy left out.
        reuse: accesses avoided, by tensor.
        accesses: of the first memory, by tensor, in words.
        least_accesses: of which a mapping can have no fewer: every word once.
        bounds: of any mapping.
        fills: of the memories, main memory left out.
        neighbours: mappings that differ in one parameter; none if ``no_neighbours``.
        no_neighbours: why the mapping has no neighbours; empty if it has.
    """

    evaluator: HierarchyEvaluator
    mapping: NestMapping
    objective: str
    cost: HierarchyCost
    bottleneck: Bottleneck
    cycles: Mapping[str, float]
    port_cycles: Mapping[str, float]
    utilization: Utilization
    traffic: Traffic
    energy: Energy
    reuse: Mapping[str, tuple[Stage, ...]]
    accesses: Mapping[str, float]
    least_accesses: Mapping[str, int]
    bounds: Bounds
    fills: tuple[Fill, ...]
    neighbours: tuple[Neighbour, ...]
    no_neighbours: str

    def __str__(self) -> str:
        sections = (
            _heading(self),
            bound_lines(self.bottleneck),
            cycle_lines(self.cycles, NEST_PARTS),
            _utilization(self),
            energy_lines(self.energy) if self.energy.total else ["Energy: none is known"],
            reuse_lines(self.reuse, self.evaluator.hierarchy.names[0]),
            _least(self),
            _fills(self),
            neighbour_lines(self.neighbours, self.objective, self.no_neighbours),
        )
        return "\n\n".join("\n".join(map(printable, section)) for section in sections)

    def figures(self) -> dict[str, Any]:
        """Return all numbers as plain ones, for JSON."""
        rows = zip(self.energy.memories, self.energy.accesses.tolist(), strict=True)
        return {
            "latency_cycles": self.cost.latency_cycles,
            "cycles": dict(self.cycles),
            "port_cycles": dict(self.port_cycles),
            "bound_by": list(self.bottleneck.names),
            "saved_cycles": self.bottleneck.saved_cycles,
            "utilization": {"total": self.utilization.total, **asdict(self.utilization)},
            "energy_nj": {
                "total": self.cost.energy_nj,
                "macs": self.energy.macs,
                **({"leakage": self.energy.leakage} if self.energy.leakage else {}),
                **{name: dict(zip(TENSORS, row, strict=True)) for name, row in rows},
            },
            "reuse": {
                tensor: [asdict(stage) for stage in stages] for tensor, stages in self.reuse.items()
            },
            "accesses": dict(self.accesses),
            "least_accesses": dict(self.least_accesses),
            "least_cycles": self.bounds.latency_cycles,
            "least_nj": self.bounds.energy_nj,
            "filled": {each.name: each.share for each in self.fills},
        }


def explain_hierarchy(
    evaluator: HierarchyEvaluator, mapping: NestMapping, objective: str | Objective | None = None
) -> HierarchyExplanation:
    """Explain why a valid mapping costs what it does.

    Args:
        evaluator: of the layer and the accelerator.
        mapping: any.
        objective: an ``Objective``, or text for ``find_objective``: by which neighbours are judged;
            None for EDP, or for the latency where no energies are known.

    Raises:
        ModelError: an objective of figures that are not known.
        UnknownNameError: no such objective.
        MappingError: an invalid mapping; the message says why, and what to change.
    """
    cost, status = evaluator.evaluate(mapping)
    if cost is None or status != "ok":
        raise MappingError(nest_status(evaluator, mapping))
    first = evaluator.hierarchy.names[0]
    outermost = [each for each in cost.traffic if each.parent == first]
    refill = _refill_cycles(evaluator, mapping, cost)
    finish = _finish_cycles(evaluator, mapping, cost)
    parts = (
        cost.first_cycles - refill,
        refill,
        cost.compute_cycles - finish,
        finish,
        max(cost.port_cycles - cost.compute_cycles, 0.0),
        cost.last_cycles,
    )
    judge = find_objective(objective or ("edp" if cost.energy_nj else "latency"))
    neighbours, no_neighbours = _neighbours(evaluator, mapping, judge)
    limits = (_COMPUTE, *_ports(evaluator.hierarchy))
    without = partial(_latency_without, evaluator, mapping)
    return HierarchyExplanation(
        evaluator=evaluator,
        mapping=mapping,
        objective=judge.name,
        cost=cost,
        bottleneck=nest_bottleneck(evaluator, mapping),
        cycles={
            name: part
            for name, part in zip(NEST_PARTS, parts, strict=True)
            if part or name not in _SOMETIMES
        },
        port_cycles={each: without({*limits} - {each}) for each in limits[1:]},
        utilization=utilization_of(evaluator, mapping, cost),
        traffic=traffic_of(evaluator.hierarchy, cost),
        energy=energy_of(evaluator.hierarchy, cost),
        reuse={tensor: reuse_of(evaluator.hierarchy, cost, tensor) for tensor in TENSORS},
        accesses={each.tensor: each.parent_reads + each.parent_writes for each in outermost},
        least_accesses=dict(zip(TENSORS, tensor_words(evaluator.shape), strict=True)),
        bounds=lower_bound(evaluator.layer, evaluator.hierarchy, evaluator.conventions),
        fills=tuple(fills_of(evaluator.hierarchy, cost)),
        neighbours=neighbours,
        no_neighbours=no_neighbours,
    )


def nest_bottleneck(evaluator: HierarchyEvaluator, mapping: NestMapping) -> Bottleneck:
    """Return what bounds the latency of a valid mapping: compute, or ports of memories."""
    limits = (_COMPUTE, *_ports(evaluator.hierarchy))
    return bottleneck_among(limits, partial(_latency_without, evaluator, mapping))


def nest_status(evaluator: HierarchyEvaluator, mapping: NestMapping) -> str:
    """Return the status of a mapping; of an invalid one also what is wrong, and the way out."""
    cost, status = evaluator.evaluate(mapping)
    if status == "ok":
        return status
    elements = evaluator.hierarchy.elements
    if cost is not None:
        for fill in fills_of(evaluator.hierarchy, cost):
            if fill.share is not None and fill.share > 1:
                return (
                    f"{status}: tiles take {fill.needed_bits:,.0f} bits of {fill.name}, which has "
                    f"{fill.capacity_bits:,}; make tiles above it smaller"
                )
    if status == "fanout_exceeded":
        cuts = cuts_of(evaluator.shape, mapping)
        for element, each in zip(elements, cuts, strict=True):
            if isinstance(element, FanoutElement) and units_of(each) > (element.size or math.inf):
                return (
                    f"{status}: loops of {element.name} take {units_of(each)} instances, of "
                    f"{element.size}; make their tiles larger"
                )
    hints = {
        "bad_tile": "allowed: tiles from 1, and one loop over a dimension at an element",
        "overflow": "counters exceed 2^60; allowed: smaller layers, or fewer units",
    }
    return f"{status}: {hints.get(status, '')}"


# --- What is found out --------------------------------------------------------------------------


def _neighbours(
    evaluator: HierarchyEvaluator, mapping: NestMapping, objective: Objective
) -> tuple[tuple[Neighbour, ...], str]:
    """Return the neighbours of a mapping, or why it has none."""
    if not isinstance(evaluator.layer, Layer) or evaluator.conventions != Conventions():
        return (), "of a layer under the conventions of other tools, or of its loops alone"
    problem = HierarchyProblem(HierarchySpace(evaluator.layer, evaluator.hierarchy))
    problem.require_figures(objective)
    try:
        judged = {**OBJECTIVES, objective.name: objective}.values()
        return find_neighbours(problem, mapping, judged), ""
    except MapSpaceError as error:
        return (), str(error)


def _refill_cycles(
    evaluator: HierarchyEvaluator, mapping: NestMapping, cost: HierarchyCost
) -> float:
    """Return the cycles that further tiles of outputs wait for (H6)."""
    first = evaluator.hierarchy.elements[0]
    share = first.refill if isinstance(first, MemoryElement) else 0.0
    outermost = cuts_of(evaluator.shape, mapping)[0]
    tiles = math.prod(cut.chunks for cut in outermost if cut.dim in INDEXING["output"])
    again = share * (tiles - 1)
    return cost.first_cycles * again / (1 + again)


def _finish_cycles(
    evaluator: HierarchyEvaluator, mapping: NestMapping, cost: HierarchyCost
) -> float:
    """Return the cycles that outputs take after their last MACs (H6)."""
    elements = [
        replace(each, finish_cycles=0.0) if isinstance(each, MemoryElement) else each
        for each in evaluator.hierarchy.elements
    ]
    if elements == list(evaluator.hierarchy.elements):
        return 0.0
    hierarchy = replace(evaluator.hierarchy, elements=elements)
    without, _ = replace(evaluator, hierarchy=hierarchy).evaluate(mapping)
    assert without is not None
    return cost.compute_cycles - without.compute_cycles


def _ports(hierarchy: Hierarchy) -> list[str]:
    """Return the names of what limits ports and fan-outs, element by element."""
    return [
        f"{element.name} {what}"
        for element in hierarchy.elements
        for field, (what, free) in _LIMITS.items()
        if getattr(element, field, free) != free
    ]


def _latency_without(
    evaluator: HierarchyEvaluator, mapping: NestMapping, names: Collection[str]
) -> float:
    """Return the cycles of a mapping without the limits that are named."""
    hierarchy = evaluator.hierarchy
    freed = replace(hierarchy, elements=[_freed(each, names) for each in hierarchy.elements])
    cost, _ = replace(evaluator, hierarchy=freed).evaluate(mapping)
    assert cost is not None
    if _COMPUTE in names:
        return cost.first_cycles + cost.port_cycles + cost.last_cycles
    return cost.latency_cycles


def _freed(element: Element, names: Collection[str]) -> Element:
    """Return an element without the limits that are named."""
    unlimited = {
        field: free for field, (what, free) in _LIMITS.items() if f"{element.name} {what}" in names
    }
    return replace(element, **unlimited)


# --- Text ---------------------------------------------------------------------------------------


def _heading(explanation: HierarchyExplanation) -> Iterator[str]:
    evaluator, cost = explanation.evaluator, explanation.cost
    extents = evaluator.shape.extents.items()
    shape = " ".join(f"{dim}{extent}" for dim, extent in extents if extent > 1)
    layer = f"{evaluator.layer} ({shape})" if isinstance(evaluator.layer, Layer) else shape
    yield f"{layer} on {evaluator.hierarchy.name or 'hardware'}, model hierarchy"
    yield (
        f"{cost.latency_cycles:,.0f} cycles, {cost.energy_nj:,.6g} nJ, "
        f"{explanation.utilization.total:.1%} of the peak throughput"
    )
    bounds = explanation.bounds
    yield (
        f"No mapping takes less than {bounds.latency_cycles:,.0f} cycles, "
        f"{bounds.energy_nj:,.6g} nJ"
    )
    yield ""
    yield from nest_lines(evaluator.hierarchy, explanation.mapping).split("\n")


def _utilization(explanation: HierarchyExplanation) -> Iterator[str]:
    yield "Utilization"
    used = explanation.utilization
    rows = [
        ("time", used.time, "with computation"),
        *((name, share, "of the instances have work") for name, share in used.fanouts.items()),
        ("tiles", used.tiles, "of the largest tile, on average: others are ragged"),
    ]
    if used.lanes < 1:
        rows.append(("lanes", used.lanes, "of the MACs that a unit does in a cycle"))
    if used.steps < 1:
        rows.append(("steps", used.steps, "of the time has MACs; steps and outputs take some too"))
    rows.append(("all", used.total, "of the peak throughput"))
    yield from table([(name, f"{share:.1%}", what) for name, share, what in rows], left=(0, 2))


def _least(explanation: HierarchyExplanation) -> Iterator[str]:
    yield f"Words read from and written to {explanation.evaluator.hierarchy.names[0]}"
    rows: list[Sequence[str]] = [("", "words", "every word once", "")]
    for tensor, least in explanation.least_accesses.items():
        words = explanation.accesses[tensor]
        rows.append((tensor, f"{words:,.0f}", f"{least:,}", f"{words / least:,.4g} times"))
    yield from table(rows)


def _fills(explanation: HierarchyExplanation) -> Iterator[str]:
    yield "Memories"
    rows = []
    for fill in explanation.fills:
        room = "" if fill.capacity_bits is None else f"of {fill.capacity_bits / 8:,.6g} B"
        share = "no limit" if fill.share is None else f"{fill.share:.1%}"
        rows.append((fill.name, f"{fill.needed_bits / 8:,.6g}", room, share))
    yield from table(rows) if rows else iter(["  none"])
