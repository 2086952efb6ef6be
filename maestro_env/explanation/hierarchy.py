"""Why a mapping costs what it does under the model ``hierarchy`` (docs/spec/hierarchy.md)."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from maestro_env.accelerators.hierarchy import (
    TENSORS,
    Element,
    FanoutElement,
    Hierarchy,
    MemoryElement,
)
from maestro_env.base.errors import MappingError
from maestro_env.explanation.bottleneck import Bottleneck, bottleneck_among
from maestro_env.explanation.reuse import Stage
from maestro_env.explanation.text import (
    bound_lines,
    cycle_lines,
    energy_lines,
    reuse_lines,
    table,
)
from maestro_env.explanation.traffic import Energy
from maestro_env.hierarchy.cuts import cuts_of, units_of
from maestro_env.hierarchy.evaluation import HierarchyCost, HierarchyEvaluator, NestMapping
from maestro_env.workloads.layer import Layer

NEST_PARTS = {
    "first_fill": "first tiles travel inwards, memory by memory",
    "compute": "multiply-accumulates of the unit with the largest tiles",
    "port_wait": "the busiest port takes longer than that",
    "last_drain": "last outputs travel outwards",
}
"""Parts of the latency, and what happens in them (H6)."""

_COMPUTE = "compute"
_PORTS = {"bw": "bandwidth", "read_bw": "read bandwidth", "write_bw": "write bandwidth"}


@dataclass(frozen=True)
class Utilization:
    """Shares that multiply to the share of the peak throughput, each from 0 to 1.

    Args:
        time: of the cycles, in which units compute.
        fanouts: of the instances of each fan-out that are ever at work, by its name; 1 where it has
            no size.
        tiles: of the largest tile, that a tile has on average; ragged ones are shorter or missing.
        lanes: of the MACs that a unit does in a cycle.
    """

    time: float
    fanouts: Mapping[str, float]
    tiles: float
    lanes: float

    @property
    def total(self) -> float:
        """Share of the peak throughput."""
        return self.time * math.prod(self.fanouts.values()) * self.tiles * self.lanes


@dataclass(frozen=True)
class Fill:
    """How full a memory, or its room for a tensor, is; of one instance.

    Args:
        name: of the physical memory, followed by that of the tensor if each has its room.
        needed_bits: of all tiles, as often as they are held.
        capacity_bits: None without limit.
    """

    name: str
    needed_bits: float
    capacity_bits: int | None

    @property
    def share(self) -> float | None:
        """Share of the capacity, None without limit."""
        return None if self.capacity_bits is None else self.needed_bits / self.capacity_bits


@dataclass(frozen=True)
class HierarchyExplanation:
    """Why a valid mapping costs what it does; ``print(explanation)`` shows it.

    Args:
        evaluator: of the layer and the accelerator.
        mapping: what is explained.
        cost: of the mapping.
        bottleneck: what bounds its latency: compute, or ports of memories.
        cycles: by part of ``NEST_PARTS``; they add up to the latency.
        utilization: of the MACs, and where it is lost.
        energy: of MACs, memories and fan-outs, from the innermost; those without energy left out.
        reuse: accesses avoided, by tensor.
        accesses: of the first memory, by tensor, in words.
        least_accesses: of which a mapping can have no fewer: every word once.
        fills: of the memories, main memory left out.
    """

    evaluator: HierarchyEvaluator
    mapping: NestMapping
    cost: HierarchyCost
    bottleneck: Bottleneck
    cycles: Mapping[str, float]
    utilization: Utilization
    energy: Energy
    reuse: Mapping[str, tuple[Stage, ...]]
    accesses: Mapping[str, float]
    least_accesses: Mapping[str, int]
    fills: tuple[Fill, ...]

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
        )
        return "\n\n".join("\n".join(section) for section in sections)

    def figures(self) -> dict[str, Any]:
        """Return all numbers as plain ones, for JSON."""
        rows = zip(self.energy.memories, self.energy.accesses.tolist(), strict=True)
        return {
            "latency_cycles": self.cost.latency_cycles,
            "cycles": dict(self.cycles),
            "bound_by": list(self.bottleneck.names),
            "saved_cycles": self.bottleneck.saved_cycles,
            "utilization": {"total": self.utilization.total, **asdict(self.utilization)},
            "energy_nj": {
                "total": self.cost.energy_nj,
                "macs": self.energy.macs,
                **{name: dict(zip(TENSORS, row, strict=True)) for name, row in rows},
            },
            "reuse": {
                tensor: [asdict(stage) for stage in stages] for tensor, stages in self.reuse.items()
            },
            "accesses": dict(self.accesses),
            "least_accesses": dict(self.least_accesses),
            "filled": {each.name: each.share for each in self.fills},
        }


def explain_hierarchy(evaluator: HierarchyEvaluator, mapping: NestMapping) -> HierarchyExplanation:
    """Explain why a valid mapping costs what it does.

    Raises:
        MappingError: an invalid mapping; the message says why, and what to change.
    """
    cost, status = evaluator.evaluate(mapping)
    if cost is None or status != "ok":
        raise MappingError(_why_invalid(evaluator, mapping, cost, status))
    first = evaluator.hierarchy.names[0]
    outermost = [each for each in cost.traffic if each.parent == first]
    parts = (
        cost.first_cycles,
        cost.compute_cycles,
        max(cost.port_cycles - cost.compute_cycles, 0.0),
        cost.last_cycles,
    )
    return HierarchyExplanation(
        evaluator=evaluator,
        mapping=mapping,
        cost=cost,
        bottleneck=_bottleneck(evaluator, mapping),
        cycles=dict(zip(NEST_PARTS, parts, strict=True)),
        utilization=_utilized(evaluator, mapping, cost),
        energy=_count_energy(evaluator.hierarchy, cost),
        reuse={tensor: _chain(evaluator.hierarchy, cost, tensor) for tensor in TENSORS},
        accesses={each.tensor: each.parent_reads + each.parent_writes for each in outermost},
        least_accesses=_least_accesses(evaluator),
        fills=tuple(_filled(evaluator.hierarchy, cost)),
    )


# --- What is found out --------------------------------------------------------------------------


def _why_invalid(
    evaluator: HierarchyEvaluator, mapping: NestMapping, cost: HierarchyCost | None, status: str
) -> str:
    """Name what exceeds a limit, and the way out."""
    elements = evaluator.hierarchy.elements
    if cost is not None:
        for fill in _filled(evaluator.hierarchy, cost):
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


def _bottleneck(evaluator: HierarchyEvaluator, mapping: NestMapping) -> Bottleneck:
    """Evaluate the mapping without each limit."""
    hierarchy = evaluator.hierarchy
    ports = [
        f"{element.name} {what}"
        for element in hierarchy.elements
        for field, what in _PORTS.items()
        if getattr(element, field, None) is not None
    ]

    def latency_without(names: Collection[str]) -> float:
        freed = replace(hierarchy, elements=[_freed(each, names) for each in hierarchy.elements])
        cost, _ = replace(evaluator, hierarchy=freed).evaluate(mapping)
        assert cost is not None
        if _COMPUTE in names:
            return cost.first_cycles + cost.port_cycles + cost.last_cycles
        return cost.latency_cycles

    return bottleneck_among((_COMPUTE, *ports), latency_without)


def _freed(element: Element, names: Collection[str]) -> Element:
    """Return an element without limits of the ports that are named."""
    if not isinstance(element, MemoryElement):
        return element
    unlimited = {field: None for field, what in _PORTS.items() if f"{element.name} {what}" in names}
    return replace(element, **unlimited)  # type: ignore[arg-type]


def _utilized(
    evaluator: HierarchyEvaluator, mapping: NestMapping, cost: HierarchyCost
) -> Utilization:
    hierarchy = evaluator.hierarchy
    shares, units = {}, 1
    for element, cuts in zip(hierarchy.elements, cuts_of(evaluator.shape, mapping), strict=True):
        if isinstance(element, FanoutElement):
            used = units_of(cuts)
            units *= used
            shares[element.name] = used / (element.size or used)
    simd = hierarchy.mac.simd
    # Of a unit that does one MAC a cycle.
    single = replace(hierarchy, mac=replace(hierarchy.mac, simd=1))
    one, _ = replace(evaluator, hierarchy=single).evaluate(mapping)
    assert one is not None
    return Utilization(
        time=cost.compute_cycles / cost.latency_cycles,
        fanouts=shares,
        tiles=cost.macs / (one.compute_cycles * units),
        lanes=one.compute_cycles / (cost.compute_cycles * simd),
    )


def _count_energy(hierarchy: Hierarchy, cost: HierarchyCost) -> Energy:
    """Return the energy by physical memory and fan-out (H7), from the innermost."""
    elements = {element.name: element for element in hierarchy.elements}
    places = list(elements)
    picojoules = {name: dict.fromkeys(TENSORS, 0.0) for name in places}

    def access(name: str, tensor: str, reads: float, writes: float) -> None:
        memory = elements.get(name)
        if isinstance(memory, MemoryElement):
            pool = elements[memory.pool or name]
            assert isinstance(pool, MemoryElement)
            bits = memory.widths(hierarchy.word_bits)[TENSORS.index(tensor)]
            energy = reads * pool.read_pj_per_bit + writes * pool.write_pj_per_bit
            picojoules[pool.name][tensor] += bits * energy

    for moved in cost.traffic:
        access(moved.parent, moved.tensor, moved.parent_reads, moved.parent_writes)
        access(moved.child, moved.tensor, moved.child_reads, moved.child_writes)
        parent = elements[moved.parent]
        assert isinstance(parent, MemoryElement)
        bits = parent.widths(hierarchy.word_bits)[TENSORS.index(moved.tensor)]
        carried = moved.child_words + (moved.child_writes if moved.tensor == "output" else 0)
        for fanout in _between(hierarchy, moved.parent, moved.child):
            picojoules[fanout.name][moved.tensor] += bits * carried * fanout.pj_per_bit
    spent = [name for name in reversed(places) if any(picojoules[name].values())]
    rows = [[picojoules[name][tensor] / 1000 for tensor in TENSORS] for name in spent]
    accesses = np.array(rows, dtype=np.float64).reshape(len(spent), len(TENSORS))
    return Energy(tuple(spent), cost.macs * hierarchy.mac.pj / 1000, accesses)


def _between(hierarchy: Hierarchy, parent: str, child: str) -> list[FanoutElement]:
    """Return the fan-outs between a memory and another, or the MACs."""
    names = [*hierarchy.names, child]
    inside = hierarchy.elements[names.index(parent) : names.index(child)]
    return [each for each in inside if isinstance(each, FanoutElement)]


def _chain(hierarchy: Hierarchy, cost: HierarchyCost, tensor: str) -> tuple[Stage, ...]:
    """Return where a tensor is reused, from the MACs, which may latch it, to the first memory."""
    stages: list[Stage] = []
    place, wanted = "MACs", cost.macs
    for moved in reversed([each for each in cost.traffic if each.tensor == tensor]):
        stages.append(Stage(place, wanted, moved.child_words))
        if fanouts := _between(hierarchy, moved.parent, moved.child):
            names = " and ".join(each.name for each in fanouts)
            stages.append(Stage(names, moved.child_words, moved.parent_words))
        place, wanted = moved.parent, moved.parent_words
    latched = stages[0].avoided > 0
    return tuple(stages[0 if latched or len(stages) == 1 else 1 :])


def _least_accesses(evaluator: HierarchyEvaluator) -> dict[str, int]:
    """Return the words of each tensor: those that move once into a memory that holds all."""
    outer, inner = MemoryElement(name="outer"), MemoryElement(name="inner")
    cost, _ = HierarchyEvaluator(evaluator.shape, Hierarchy([outer, inner])).evaluate([[], []])
    assert cost is not None
    return {each.tensor: each.parent_words for each in cost.traffic if each.parent == "outer"}


def _filled(hierarchy: Hierarchy, cost: HierarchyCost) -> Iterator[Fill]:
    for element in hierarchy.elements[1:]:
        if not isinstance(element, MemoryElement) or element.pool is not None:
            continue
        bits = cost.tile_bits[element.name]
        if isinstance(element.capacity_bits, Mapping):
            for tensor, room in element.capacity_bits.items():
                yield Fill(f"{element.name} {tensor}", bits[tensor], room)
        elif any(bits.values()):
            yield Fill(element.name, sum(bits.values()), element.capacity_bits)


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
    yield ""
    for name, loops in zip(evaluator.hierarchy.names, explanation.mapping, strict=True):
        listed = ", ".join(f"{dim} in tiles of {tile}" for dim, tile in loops)
        yield f"{name}: {listed or 'no loop'}"


def _utilization(explanation: HierarchyExplanation) -> Iterator[str]:
    yield "Utilization"
    used = explanation.utilization
    rows = [
        ("time", used.time, "with computation"),
        *((name, share, "of the instances have work") for name, share in used.fanouts.items()),
        ("tiles", used.tiles, "of the largest tile, on average: others are ragged"),
    ]
    if explanation.evaluator.hierarchy.mac.simd > 1:
        rows.append(("lanes", used.lanes, "of the MACs that a unit does in a cycle"))
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
