"""Why a mapping costs what it does under `hierarchy`: parts add up, as a simulator has them."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hierarchy_cases import evaluator_of, random_row
from hierarchy_simulator import TENSORS, Nest, words
from hypothesis import given, settings
from hypothesis import strategies as st

from maestro_env.accelerators.elements import FanoutElement, MacElement, MemoryElement
from maestro_env.accelerators.finding import find_hierarchy
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.base.errors import MappingError
from maestro_env.explanation.hierarchy import HierarchyExplanation, explain_hierarchy
from maestro_env.hierarchy.evaluation import HierarchyEvaluator
from maestro_env.hierarchy.shape import Shape, cuts_of, units_of
from maestro_env.mapspace.hierarchy_space import HierarchySpace
from maestro_env.workloads.finding import find_layer

SEEDS = st.integers(0, 2**32)
DRAM = MemoryElement(name="DRAM", bw=8)


def drawn(seed: int) -> tuple[dict[str, Any], HierarchyExplanation]:
    row = random_row(random.Random(seed))
    return row, explain_hierarchy(evaluator_of(row), row["mapping"])


@given(SEEDS)
def test_cycles_energy_and_utilization_add_up(seed: int) -> None:
    row, found = drawn(seed)
    cost = found.cost
    assert sum(found.cycles.values()) == pytest.approx(cost.latency_cycles, rel=1e-12)
    assert found.energy.total == pytest.approx(cost.energy_nj, rel=1e-12)
    nest, simd = Nest(row), row["simd"]
    # Below a ragged tile fewer may ever be at work.
    units = math.prod(max(each) + 1 for each in zip(*next(nest.steps(nest.loops)), strict=True))
    busy = cost.macs / (cost.latency_cycles * units * simd)
    assert found.utilization.total == pytest.approx(busy, rel=1e-12)
    assert all(0 < share <= 1 for share in found.utilization.fanouts.values())
    assert str(found)
    json.dumps(found.figures())


@given(SEEDS)
def test_reuse_leads_from_the_macs_to_the_first_memory_and_no_word_moves_less_than_once(
    seed: int,
) -> None:
    row, found = drawn(seed)
    nest = Nest(row)
    for letter, tensor in TENSORS.items():
        stages = found.reuse[tensor]
        assert stages[0].wanted == found.cost.macs
        assert all(a.moved == b.wanted for a, b in pairwise(stages))
        (outermost,) = [
            each
            for each in found.cost.traffic
            if each.tensor == tensor and each.parent == found.evaluator.hierarchy.names[0]
        ]
        assert stages[-1].moved == outermost.parent_words
        distinct = len(words(letter, nest.whole, nest.slide))
        assert found.least_accesses[tensor] == distinct <= found.accesses[tensor]


@given(SEEDS)
def test_the_energy_of_a_place_is_that_without_all_others(seed: int) -> None:
    _, found = drawn(seed)
    hierarchy = found.evaluator.hierarchy
    free = {"read_pj_per_bit": 0.0, "write_pj_per_bit": 0.0}
    for name, energies in zip(found.energy.memories, found.energy.accesses, strict=True):
        elements = [
            each
            if each.name == name
            else replace(each, **(free if isinstance(each, MemoryElement) else {"pj_per_bit": 0.0}))  # type: ignore[arg-type]
            for each in hierarchy.elements
        ]
        mac = replace(hierarchy.mac, pj=0.0)
        alone = replace(hierarchy, elements=elements, mac=mac)
        cost, _ = replace(found.evaluator, hierarchy=alone).evaluate(found.mapping)
        assert cost is not None
        assert energies.sum() == pytest.approx(cost.energy_nj, rel=1e-12)


@given(SEEDS)
def test_a_port_that_saves_cycles_does_so_when_it_is_doubled(seed: int) -> None:
    _, found = drawn(seed)
    hierarchy = found.evaluator.hierarchy
    fields = {"bandwidth": "bw", "read bandwidth": "read_bw", "write bandwidth": "write_bw"}
    for resource, saved in found.bottleneck.saved_cycles.items():
        name, _, what = resource.partition(" ")
        if what not in fields:
            continue
        elements = [
            replace(each, **{fields[what]: 2 * getattr(each, fields[what])})
            if each.name == name
            else each
            for each in hierarchy.elements
        ]
        faster = replace(found.evaluator, hierarchy=replace(hierarchy, elements=elements))
        cost, _ = faster.evaluate(found.mapping)
        assert cost is not None
        assert (cost.latency_cycles < found.cost.latency_cycles) == (saved > 0)


def test_the_worked_example_of_the_specification() -> None:
    memory = MemoryElement(name="RF", read_bw=16, write_bw=8, capacity_bits=128)
    elements = [DRAM, FanoutElement(name="X", size=4), memory]
    evaluator = HierarchyEvaluator(Shape({"P": 4, "K": 2, "C": 2}), Hierarchy(elements))
    found = explain_hierarchy(evaluator, [[("K", 1)], [("P", 2)], []])
    parts = {"first_fill": 10, "compute": 8, "port_wait": 3, "last_drain": 4}
    assert found.cycles == parts
    # All words of DRAM: 8 inputs, 4 filters, 8 outputs. Of a unit: 8 MACs read 2 operands and 4 old
    # sums, and 4 outputs leave; 8 words come, and 8 sums.
    ports = {"DRAM bandwidth": 20, "RF read bandwidth": 24 / 2, "RF write bandwidth": 16}
    assert found.port_cycles == pytest.approx(ports)
    assert found.traffic.memories == ("RF", "DRAM")
    assert found.traffic.reads.tolist() == [[16, 16, 16], [8, 4, 0]]
    assert found.traffic.writes.tolist() == [[8, 8, 16], [0, 0, 8]]
    assert found.bottleneck.names[0] == "DRAM bandwidth"
    # Without a limit of DRAM, RF takes 2 x 3 words in first and 22 words of the steady state out.
    assert found.bottleneck.saved_cycles["DRAM bandwidth"] == 25 - (6 + 11 + 1)
    assert found.bottleneck.saved_cycles["compute"] == 0
    assert found.utilization.fanouts == {"X": 0.5}
    assert [(each.name, each.share) for each in found.fills] == [("RF", 0.5)]
    assert found.accesses == {"input": 8, "filter": 4, "output": 8}
    assert "  X       50.0%  of the instances have work" in str(found).splitlines()


def test_outputs_and_refills_have_cycles_of_their_own() -> None:
    memories = [MemoryElement(name="DRAM", bw=8, refill=0.25), MemoryElement(name="L1")]
    memories[1] = replace(memories[1], finish_cycles=2.0)
    evaluator = HierarchyEvaluator(Shape({"K": 4, "P": 3, "C": 50}), Hierarchy(memories))
    cycles = explain_hierarchy(evaluator, [[("K", 2)], []]).cycles
    # 100 filter words and 150 inputs come first; the second tile of filters waits for a quarter.
    want = {"first_fill": 250, "refill": 62.5, "compute": 600, "finish": 24, "last_drain": 6}
    assert {name: each for name, each in cycles.items() if each} == want


def test_room_by_tensor_is_filled_by_tensor() -> None:
    memory = MemoryElement(name="L1", capacity_bits={"filter": 64, "output": 32}, buffers=2)
    evaluator = HierarchyEvaluator(Shape({"K": 8, "C": 4}), Hierarchy([DRAM, memory]))
    found = explain_hierarchy(evaluator, [[("K", 1)], []])
    assert [(each.name, each.share) for each in found.fills] == [
        ("L1 filter", 1),
        ("L1 output", 0.5),
    ]


def test_lanes_that_idle_are_told_from_ragged_tiles() -> None:
    hierarchy = Hierarchy([DRAM, MemoryElement(name="L1")], MacElement(simd=4))
    found = explain_hierarchy(HierarchyEvaluator(Shape({"K": 6}), hierarchy), [[], [("K", 3)]])
    assert (found.utilization.lanes, found.utilization.tiles) == (0.75, 1)
    assert "lanes" in str(found)


@pytest.mark.parametrize(
    ("mapping", "named"),
    [
        ([[("K", 0)], [], []], "bad_tile: allowed: tiles from 1"),
        ([[], [("K", 2)], []], "fanout_exceeded: loops of X take 4 instances, of 2; make their"),
        ([[], [("K", 4)], []], "pool_overflow: tiles take 384 bits of L1, which has 224"),
    ],
)
def test_an_invalid_mapping_is_refused_with_what_it_exceeds(mapping: Any, named: str) -> None:
    buffer = MemoryElement(name="L1", capacity_bits=224, buffers=2)
    hierarchy = Hierarchy([DRAM, FanoutElement(name="X", size=2), buffer])
    evaluator = HierarchyEvaluator(Shape({"K": 8, "C": 4}), hierarchy)
    with pytest.raises(MappingError) as refused:
        explain_hierarchy(evaluator, mapping)
    assert str(refused.value).startswith(named)


def test_cuts_are_of_the_largest_box() -> None:
    cuts = cuts_of(Shape({"K": 10, "P": 3}), [[("K", 4)], [("K", 3), ("P", 9)], [("K", 1)]])
    found = [[(each.dim, each.extent, each.tile, each.chunks) for each in some] for some in cuts]
    assert found == [[("K", 10, 4, 3)], [("K", 4, 3, 2), ("P", 3, 3, 1)], [("K", 3, 1, 3)]]
    assert math.prod(units_of(each) for each in cuts) == 18


TIGHT = Hierarchy(
    [
        DRAM,
        MemoryElement(name="L2", capacity_bits=900),
        FanoutElement(name="units", size=3),
        MemoryElement(name="L1", capacity_bits=200, buffers=2),
    ]
)


@settings(max_examples=15)
@given(st.sampled_from([TIGHT, find_hierarchy("eyeriss")]), SEEDS)
def test_neighbours_differ_in_one_parameter_and_cost_what_they_say(
    chip: Hierarchy, seed: int
) -> None:
    space = HierarchySpace(find_layer("conv:K=6,C=5,H=7,W=7,R=3,S=3"), chip)
    # Small tiles fit.
    point = np.random.default_rng(seed).integers(0, np.minimum(space.sizes, 3), dtype=np.int32)
    mapping, evaluator = space.decode(point), space.evaluator
    cost, status = evaluator.evaluate(mapping)
    assert cost is not None
    if status != "ok":
        return
    own = space.encode(mapping)
    found = explain_hierarchy(evaluator, mapping).neighbours
    assert len({space.decode(each.point) for each in found} | {mapping}) == len(found) + 1
    for each in found:
        (column,) = np.flatnonzero(each.point != own)
        assert space.parameters[column].name == each.parameter
        other, status = evaluator.evaluate(space.decode(each.point))
        assert other is not None
        assert status == each.status
        change = other.latency_cycles / cost.latency_cycles - 1
        assert each.changes == {"latency": pytest.approx(change, abs=1e-9)}
        assert each.valid == (not each.over)
        # With room for what is missing, it fits.
        roomy = [
            replace(memory, capacity_bits=memory.capacity_bits + 8 * each.over[memory.name])  # type: ignore[arg-type, operator]
            if memory.name in each.over
            else memory
            for memory in space.hardware.elements
        ]
        larger = replace(evaluator, hierarchy=replace(space.hardware, elements=roomy))
        assert larger.evaluate(space.decode(each.point))[1] == "ok"


def test_loops_alone_have_no_neighbours() -> None:
    evaluator = HierarchyEvaluator(Shape({"K": 4}), Hierarchy([DRAM, MemoryElement(name="RF")]))
    found = explain_hierarchy(evaluator, [[("K", 2)], []])
    assert found.neighbours == ()
    assert "Neighbours: none: of " in str(found)
