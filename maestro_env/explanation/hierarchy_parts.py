"""Where MACs, energy and words of a mapping go under the model ``hierarchy``, and what it fills."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from maestro_env.accelerators.hierarchy import TENSORS, FanoutElement, Hierarchy, MemoryElement
from maestro_env.explanation.traffic import Energy, Stage, Traffic
from maestro_env.hierarchy.evaluation import HierarchyCost, HierarchyEvaluator, NestMapping
from maestro_env.hierarchy.shape import cuts_of, units_of


@dataclass(frozen=True)
class Utilization:
    """Shares that multiply to the share of the peak throughput, each from 0 to 1.

    Args:
        time: of the cycles, in which units compute.
        fanouts: of the instances of each fan-out that are ever at work, by its name; 1 where it has
            no size.
        tiles: of the largest tile, that a tile has on average; ragged ones are shorter or missing.
        lanes: of the MACs that a unit does in a cycle.
        steps: of the computing time, that MACs take; steps take some time at least, and outputs
            after their last MAC (H6).
    """

    time: float
    fanouts: Mapping[str, float]
    tiles: float
    lanes: float
    steps: float

    @property
    def total(self) -> float:
        """Share of the peak throughput."""
        of_unit = self.tiles * self.lanes * self.steps
        return self.time * math.prod(self.fanouts.values()) * of_unit


def utilization_of(
    evaluator: HierarchyEvaluator, mapping: NestMapping, cost: HierarchyCost
) -> Utilization:
    """Return the shares of a mapping that has this cost."""
    hierarchy = evaluator.hierarchy
    shares, units = {}, 1
    for element, cuts in zip(hierarchy.elements, cuts_of(evaluator.shape, mapping), strict=True):
        if isinstance(element, FanoutElement):
            used = units_of(cuts)
            units *= used
            shares[element.name] = used / (element.size or used)
    free = {"step_cycles": 0, "load_cycles": 0, "finish_cycles": 0.0}
    elements = [
        replace(each, **free) if isinstance(each, MemoryElement) else each  # type: ignore[arg-type]
        for each in hierarchy.elements
    ]

    def macs_alone(simd: int) -> float:
        """Return the cycles that MACs take, whatever steps and outputs take."""
        units = replace(hierarchy, elements=elements, mac=replace(hierarchy.mac, simd=simd))
        found, _ = replace(evaluator, hierarchy=units).evaluate(mapping)
        assert found is not None
        return found.compute_cycles

    simd = hierarchy.mac.simd
    single, alone = macs_alone(1), macs_alone(simd)
    return Utilization(
        time=cost.compute_cycles / cost.latency_cycles,
        fanouts=shares,
        tiles=cost.macs / (single * units),
        lanes=single / (alone * simd),
        steps=alone / cost.compute_cycles,
    )


def _accesses(
    hierarchy: Hierarchy, cost: HierarchyCost
) -> Iterator[tuple[MemoryElement, MemoryElement, str, float, float]]:
    """Yield a memory, the physical one, a tensor, and words read and written, at each boundary."""
    elements = {element.name: element for element in hierarchy.elements}
    for moved in cost.traffic:
        for name, reads, writes in (
            (moved.parent, moved.parent_reads, moved.parent_writes),
            (moved.child, moved.child_reads, moved.child_writes),
        ):
            memory = elements.get(name)
            if isinstance(memory, MemoryElement):
                pool = elements[memory.pool or name]
                assert isinstance(pool, MemoryElement)
                yield memory, pool, moved.tensor, reads, writes


def traffic_of(hierarchy: Hierarchy, cost: HierarchyCost) -> Traffic:
    """Return the accesses of each physical memory, from the innermost."""
    memories = tuple(cost.tile_bits)[::-1]
    words = np.zeros((2, len(memories), len(TENSORS)))
    for _, pool, tensor, *counts in _accesses(hierarchy, cost):
        words[:, memories.index(pool.name), TENSORS.index(tensor)] += counts
    return Traffic(memories, *words)


def energy_of(hierarchy: Hierarchy, cost: HierarchyCost) -> Energy:
    """Return the energy by physical memory and fan-out, from the innermost, and leakage (H7)."""
    elements = {element.name: element for element in hierarchy.elements}
    places = list(elements)
    picojoules = {name: dict.fromkeys(TENSORS, 0.0) for name in places}
    for memory, pool, tensor, reads, writes in _accesses(hierarchy, cost):
        bits = memory.widths(hierarchy.word_bits)[TENSORS.index(tensor)]
        energy = reads * pool.read_pj_per_bit + writes * pool.write_pj_per_bit
        picojoules[pool.name][tensor] += bits * energy
    for moved in cost.traffic:
        parent = elements[moved.parent]
        assert isinstance(parent, MemoryElement)
        bits = parent.widths(hierarchy.word_bits)[TENSORS.index(moved.tensor)]
        carried = moved.child_words + (moved.child_writes if moved.tensor == "output" else 0)
        for fanout in _between(hierarchy, moved.parent, moved.child):
            picojoules[fanout.name][moved.tensor] += bits * carried * fanout.pj_per_bit
    spent = [name for name in reversed(places) if any(picojoules[name].values())]
    rows = [[picojoules[name][tensor] / 1000 for tensor in TENSORS] for name in spent]
    accesses = np.array(rows, dtype=np.float64).reshape(len(spent), len(TENSORS))
    macs, leakage = cost.macs * hierarchy.mac.pj, hierarchy.leak_pj * cost.latency_cycles
    return Energy(tuple(spent), macs / 1000, accesses, leakage / 1000)


def _between(hierarchy: Hierarchy, parent: str, child: str) -> list[FanoutElement]:
    """Return the fan-outs between a memory and another, or the MACs."""
    names = [*hierarchy.names, child]
    inside = hierarchy.elements[names.index(parent) : names.index(child)]
    return [each for each in inside if isinstance(each, FanoutElement)]


def reuse_of(hierarchy: Hierarchy, cost: HierarchyCost, tensor: str) -> tuple[Stage, ...]:
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
