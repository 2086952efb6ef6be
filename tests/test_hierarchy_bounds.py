"""Lower bounds of the model `hierarchy` (H10) against the simulator and random mappings."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hierarchy_cases import evaluator_of, random_row
from hierarchy_simulator import Nest, costs, moved
from hypothesis import given, settings
from hypothesis import strategies as st

from maestro_env.accelerators.constraints import constrained
from maestro_env.accelerators.elements import Cache, FanoutElement, MacElement, MemoryElement
from maestro_env.accelerators.finding import chips_with, find_hierarchy
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.accelerators.loop_rules import DIMS
from maestro_env.accelerators.pricing import priced
from maestro_env.accelerators.technologies import find_technology
from maestro_env.base.errors import LayerError
from maestro_env.evaluation.cost_and_status import METRICS
from maestro_env.evaluation.hierarchy_problem import HierarchyProblem
from maestro_env.evaluation.masks import Masks
from maestro_env.hierarchy.bounds import Bounds, lower_bound
from maestro_env.hierarchy.cost_floors import CostFloors, least_steps
from maestro_env.hierarchy.evaluation import HierarchyCost, HierarchyEvaluator
from maestro_env.hierarchy.shape import Shape
from maestro_env.mapspace.hierarchy_space import HierarchySpace
from maestro_env.workloads.finding import find_layer, find_network

Row = dict[str, Any]
SEEDS = st.integers(0, 2**32)
# Sums of doubles in another order.
ROUNDING = 1 + 1e-9
# Words of 8 bits in beats of 128 and lines of 64 bytes, at 128 bits a cycle.
DRAM = MemoryElement(
    name="DRAM", bw=128, beat_bits=128, cache=Cache(bits=8192, line_bits=512, miss_cycles=2)
)


def limited(rng: random.Random, evaluator: HierarchyEvaluator) -> HierarchyEvaluator:
    """Return the evaluator of an accelerator with small memories and fan-outs."""
    elements = []
    for index, element in enumerate(evaluator.hierarchy.elements):
        if isinstance(element, FanoutElement):
            size = rng.randint(1, 5) if rng.random() < 0.8 else None
            elements.append(replace(element, size=size))
        elif index and element.pool is None and rng.random() < 0.6:
            by_tensor = {"input": rng.randint(16, 200), "output": rng.randint(16, 100)}
            room = rng.choice((rng.randint(8, 400), by_tensor))
            elements.append(replace(element, capacity_bits=room, buffers=rng.choice((1, 1, 2))))
        else:
            elements.append(element)
    return replace(evaluator, hierarchy=replace(evaluator.hierarchy, elements=elements))


def random_mapping(rng: random.Random, row: Row) -> list[Any]:
    box, mapping = dict(row["layer"]["dims"]), []
    for element in row["accelerator"]:
        loops = []
        for dim in rng.sample(DIMS, rng.randint(0, 6 if "memory" in element else 3)):
            tile = 1 if rng.random() < 0.3 else rng.randint(1, box[dim])
            box[dim] = min(box[dim], tile)
            loops.append((dim, tile))
        mapping.append(loops)
    return mapping


def product_row(rng: random.Random) -> Row:
    """Return a row whose layer has no windows."""
    row = random_row(rng)
    loops = rng.choice(("KCP", "KCP", "KCQ", "NGPK", "PQC", "KCPG"))
    dims = dict.fromkeys(DIMS, 1) | {dim: rng.randint(1, 9) for dim in loops}
    row["layer"] = {"dims": dims, "stride": [rng.randint(1, 3)] * 2, "dilation": [1, 1]}
    return row


def below(bounds: Bounds, cost: HierarchyCost) -> bool:
    """Say whether a mapping costs no less than the bounds."""
    words = all(
        least.parent_words <= most.parent_words * ROUNDING
        and least.child_words <= most.child_words * ROUNDING
        for least, most in zip(bounds.traffic, cost.traffic, strict=True)
    )
    return (
        words
        and bounds.compute_cycles <= cost.compute_cycles
        and bounds.latency_cycles <= cost.latency_cycles * ROUNDING
        and bounds.energy_nj <= cost.energy_nj * ROUNDING
    )


def check(rng: random.Random, row: Row, mappings: int) -> None:
    evaluator = limited(rng, evaluator_of(row))
    bounds = lower_bound(evaluator.shape, evaluator.hierarchy, evaluator.conventions)
    for _ in range(mappings):
        mapping = random_mapping(rng, row)
        cost, status = evaluator.evaluate(mapping)
        if status == "ok":
            assert cost is not None
            assert below(bounds, cost), (row, evaluator, mapping)


@given(seed=SEEDS)
def test_no_mapping_that_is_executed_costs_less(seed: int) -> None:
    row = random_row(random.Random(seed), most_macs=60)
    evaluator = evaluator_of(row)
    bounds = lower_bound(evaluator.shape, evaluator.hierarchy, evaluator.conventions)
    want = costs(row)
    assert bounds.latency_cycles <= want["latency_cycles"] * ROUNDING
    assert bounds.energy_nj <= want["energy_nj"] * ROUNDING
    for least, words in zip(bounds.traffic, want["traffic"], strict=True):
        assert least.parent_words <= words["parent_words"] * ROUNDING
        assert least.child_words <= words["child_words"] * ROUNDING


@given(seed=SEEDS)
@settings(max_examples=15, deadline=None)
def test_the_first_of_each_memory_moves_its_share(seed: int) -> None:
    row = random_row(random.Random(seed), most_macs=60)
    # As many units as the mapping may use.
    evaluator, nest = evaluator_of(row), Nest(row)
    units = [1] * len(row["accelerator"])
    for element, dim, tile, spatial in nest.loops:
        units[element] *= math.ceil(row["layer"]["dims"][dim] / tile) if spatial else 1
    elements = [
        replace(each, size=size) if isinstance(each, FanoutElement) else each
        for each, size in zip(evaluator.hierarchy.elements, units, strict=True)
    ]
    evaluator = replace(evaluator, hierarchy=replace(evaluator.hierarchy, elements=elements))
    floors = CostFloors(evaluator)
    parents, children = floors.of_first()
    latched = {**row, "latch": "IWO" if evaluator.conventions.latch else row["latch"]}
    for b, (tensor, parent, child, _) in enumerate(evaluator.prices):
        # Fan-outs of limited bandwidth follow as parents.
        count = moved(Nest(latched), "IWO"[tensor], parent, child)
        assert parents[b, 0] <= count["parent_0"] * ROUNDING
        assert floors.is_mac(floors.boundaries[b]) or children[b, 0] <= count["child_0"] * ROUNDING


@given(seed=SEEDS, windows=st.booleans())
def test_no_mapping_costs_less(seed: int, windows: bool) -> None:
    rng = random.Random(seed)
    check(rng, random_row(rng) if windows else product_row(rng), mappings=20)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_none_of_200_000_mappings_costs_less(seed: int) -> None:
    rng = random.Random(seed)
    for index in range(1000):
        check(rng, random_row(rng) if index % 2 else product_row(rng), mappings=20)


@pytest.mark.parametrize("mappings", [10, pytest.param(3334, marks=pytest.mark.slow)])
@pytest.mark.parametrize("slow", [False, True])
@pytest.mark.parametrize("chip", ["gemmini", "eyeriss", "simba", "tpu_v1", "nvdla"])
def test_no_mapping_of_a_chip_costs_less(chip: str, slow: bool, mappings: int) -> None:
    hierarchy, rng = find_hierarchy(chip), np.random.default_rng(0)
    technology = find_technology("cmos40-16bit" if chip == "eyeriss" else "cmos40")
    if slow:
        elements = [
            replace(each, bw=32) if isinstance(each, FanoutElement) else each
            for each in hierarchy.elements[1:]
        ]
        hierarchy = replace(hierarchy, elements=[replace(DRAM, gaps=True), *elements])
    for layer in ("conv:K=3,C=5,Y=14,X=15,R=3,S=3", "mobilenetv2_l1", "gemm:M=7,N=300,K=50"):
        problem = HierarchyProblem(HierarchySpace(find_layer(layer), priced(hierarchy, technology)))
        metrics = problem.evaluate(Masks(problem).sample(mappings, rng)).metrics
        for name, bound in problem.lower_bounds.items():
            assert 0 < bound <= metrics[:, METRICS.index(name)].min() * ROUNDING, layer


@given(st.lists(st.integers(1, 9), max_size=3), st.integers(1, 40))
def test_the_least_steps_are_those_of_the_best_share(extents: list[int], units: int) -> None:
    shares = itertools.product(*(range(1, extent + 1) for extent in extents))
    want = min(
        math.prod(-(-extent // n) for extent, n in zip(extents, share, strict=True))
        for share in shares
        if math.prod(share) <= units
    )
    assert least_steps(extents, units) == want


# ---- Memories of limited size -------------------------------------------------------------------


def product_on(bits: int, **dram: Any) -> tuple[Shape, Hierarchy]:
    """Return a product of 12 x 12 x 12 and an accelerator with one small memory."""
    memory = MemoryElement(name="L1", capacity_bits=bits)
    dram = {"read_pj_per_bit": 1, "write_pj_per_bit": 1} | dram
    return Shape(dict.fromkeys("PKC", 12)), Hierarchy([MemoryElement(name="DRAM", **dram), memory])


@pytest.mark.parametrize(
    ("words", "again"), [(3, True), (15, True), (48, True), (100, False), (432, False)]
)
def test_small_memories_are_filled_again(words: int, again: bool) -> None:
    shape, hierarchy = product_on(8 * words, bw=8)
    evaluator = HierarchyEvaluator(shape, hierarchy)
    mappings = evaluator.encode(
        [
            [list(zip(order, tiles, strict=True)), []]
            for order in itertools.permutations("PKC")
            for tiles in itertools.product((1, 2, 3, 4, 6, 9, 12), repeat=3)
        ]
    )
    figures, statuses = evaluator.evaluate_batch(mappings)
    latency, energy = figures[statuses == 0][:, [0, 5]].min(axis=0)
    bounds = lower_bound(shape, hierarchy)
    assert 0.7 * energy <= bounds.energy_nj <= energy * ROUNDING
    assert 0.5 * latency <= bounds.latency_cycles <= latency * ROUNDING
    compulsory = lower_bound(shape, product_on(2**40, bw=8)[1])
    assert (bounds.energy_nj > compulsory.energy_nj) == again
    assert compulsory.energy_nj == pytest.approx(3 * 144 * 8 / 1000)


def test_nothing_fits_a_memory_of_two_words() -> None:
    assert lower_bound(*product_on(16)).edp_cycles_nj == math.inf


# ---- Layers and chips ---------------------------------------------------------------------------


def test_the_bounds_of_a_product_can_be_said_by_hand() -> None:
    dram = MemoryElement(name="DRAM", bw=8, read_pj_per_bit=1, write_pj_per_bit=2)
    fanout = FanoutElement(name="X", size=7)
    hierarchy = Hierarchy([dram, MemoryElement(name="L1"), fanout], MacElement(pj=3))
    bounds = lower_bound(Shape({"P": 10, "K": 5, "C": 2}), hierarchy)
    # Of 7 units, 5 are at work in every step: no more than 2 x 3, or 5, or 7 that idle in the end.
    assert bounds.compute_cycles == 20
    assert bounds.port_cycles == 20 + 10 + 50
    assert bounds.latency_cycles == 80
    assert bounds.energy_nj == pytest.approx((30 * 8 + 50 * 8 * 2 + 100 * 3) / 1000)
    words = {(each.tensor, each.parent): each.parent_words for each in bounds.traffic}
    assert words["input", "L1"] == 20
    assert words["output", "L1"] == 50
    # Now the first word of each input and filter, and the last output, take time of their own.
    faster = Hierarchy([replace(dram, bw=80), *hierarchy.elements[1:]])
    assert lower_bound(Shape({"P": 10, "K": 5, "C": 2}), faster).latency_cycles == pytest.approx(
        20.3
    )


@pytest.mark.parametrize("chip", chips_with("memories"))
def test_chips_have_bounds_for_all_layers_of_a_network(chip: str) -> None:
    hierarchy = find_hierarchy(chip)
    units = math.prod(each.size or 1 for each in hierarchy.elements if hasattr(each, "size"))
    for layer in find_network("resnet18").layers[::6]:
        bounds = lower_bound(layer, hierarchy)
        assert layer.macs / units <= bounds.compute_cycles <= bounds.latency_cycles
        assert bounds.latency_cycles < layer.macs


@pytest.mark.parametrize(
    ("extents", "port_cycles"),
    [
        # Each word has a beat; four inputs share one, and so do two outputs.
        ({"G": 10, "P": 3}, 30 + 10 + 30),
        ({"G": 3, "C": 4, "K": 2}, 3 + 12 + 3),
        # 2,048 filter words exceed the cache: 32 lines, or 64 where they have 32 words.
        ({"C": 32, "K": 64, "P": 2}, 4 + 128 + 32 * 2 + 8),
        ({"C": 64, "K": 32}, 4 + 128 + 64 * 2 + 2),
    ],
)
def test_beats_and_misses_can_be_counted_by_hand(
    extents: dict[str, int], port_cycles: float
) -> None:
    hierarchy = Hierarchy([DRAM, MemoryElement(name="L1")])
    bounds = lower_bound(Shape(extents), hierarchy)
    assert bounds.port_cycles == pytest.approx(port_cycles)


def test_fan_outs_have_bounds_of_their_own() -> None:
    outer = FanoutElement(name="X", size=4, apart=("filter",))
    inner = FanoutElement(name="Y", size=2, apart=("input", "output"))
    # Of 4,096 MACs each needs an input of its own at one of four Y, and sends its sum there; two
    # share a filter word. X shares inputs and adds up. All but the first 256 sums get an older one.
    for bandwidths, words in (
        ({"X": 8, "Y": None}, (1024 + 2048 + 1024) + 1024 - 256),
        ({"X": None, "Y": 8}, (4096 + 2048 + 4096) / 4 + 1024 - 256),
    ):
        fanouts = [replace(each, bw=bandwidths[each.name]) for each in (outer, inner)]
        hierarchy = Hierarchy([MemoryElement(name="DRAM"), *fanouts])
        assert lower_bound(Shape(dict.fromkeys("PKC", 16)), hierarchy).port_cycles == words


def test_bounds_of_short_runs_and_large_tensors_are_nearly_reached() -> None:
    channels = [[("G", 1)], [], [("Q", 1)], [("R", 1)], [("S", 1)], []]
    blocks = [[("N", 1024), ("K", 240)], [], [("K", 16), ("N", 16)], [("K", 1)], [("N", 1)], []]
    # Each of 415,872 inputs, 288 filter words and 401,408 outputs takes 128 bits, at 80.5 a cycle.
    depthwise = ("mobilenetv2_l1", channels, 817_568 * 128 / 80.5)
    # The filter words, of 8 bits, are in lines of 64 that miss for 3.44 cycles.
    product = ("gemm:M=1,N=4096,K=4096", blocks, 4096**2 * (8 / 80.5 + 3.44 / 64))
    for layer, mapping, least in (depthwise, product):
        free = constrained(find_hierarchy("gemmini"), "none")
        # Filling again is no part of the bound.
        dram = replace(free.elements[0], refill=0.0)  # type: ignore[call-arg]
        free = replace(free, elements=[dram, *free.elements[1:]])
        evaluator = HierarchyEvaluator(find_layer(layer), free)
        cost, _ = evaluator.evaluate(mapping)
        assert cost is not None
        bound = lower_bound(evaluator.layer, evaluator.hierarchy).latency_cycles
        assert least <= bound <= cost.latency_cycles <= 1.01 * bound


def test_a_layer_that_cannot_be_counted_has_no_bounds() -> None:
    with pytest.raises(LayerError, match="overflow"):
        lower_bound(Shape(dict.fromkeys("KCPQ", 2**15)), find_hierarchy("gemmini"))
    with pytest.raises(LayerError, match="transposed"):
        lower_bound(
            replace(find_layer("conv:K=2,C=3,Y=9,X=8,R=3,S=3"), operator="TRCONV"),
            find_hierarchy("gemmini"),
        )
