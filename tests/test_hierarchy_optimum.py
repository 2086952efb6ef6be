"""Optimal tiles of the outermost memory (H11): against all tiles, and on chips."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maestro_env.accelerators.finding import find_hierarchy
from maestro_env.accelerators.hierarchy import (
    TENSORS,
    Element,
    FanoutElement,
    Hierarchy,
    MacElement,
    MemoryElement,
)
from maestro_env.base.errors import HardwareError, LayerError, UnknownNameError
from maestro_env.hierarchy.bounds import lower_bound
from maestro_env.hierarchy.evaluation import FIGURES, HierarchyEvaluator
from maestro_env.hierarchy.optimum import Goal, find_optimum
from maestro_env.hierarchy.shape import Shape
from maestro_env.workloads.finding import find_layer

GOALS = get_args(Goal)
GEMM = find_layer("gemm:M=512,N=512,K=512")
PJ_PER_BIT = {"DRAM": 8, "scratchpad": 0.5, "accumulator": 0.25, "registers": 0.01}


def priced_gemmini() -> Hierarchy:
    """Return Gemmini with energies, which are made up."""
    chip = find_hierarchy("gemmini")
    elements = [
        replace(each, read_pj_per_bit=PJ_PER_BIT[each.name], write_pj_per_bit=PJ_PER_BIT[each.name])
        if isinstance(each, MemoryElement)
        else each
        for each in chip.elements
    ]
    return replace(chip, elements=elements)


def random_memory(rng: random.Random, name: str, **given: Any) -> MemoryElement:
    ports = ({"bw": rng.randint(1, 64)}, {"read_bw": rng.randint(1, 64)}, {})
    energies = {f"{way}_pj_per_bit": rng.randint(0, 9) / 8 for way in ("read", "write")}
    widths = {tensor: rng.choice((4, 8, 16)) for tensor in TENSORS}
    buffers = rng.choice((1, 1, 2))
    given |= {**rng.choice(ports), **energies}
    if name != "DRAM" and rng.random() < 0.3:
        given |= {"launch_cycles": rng.randint(0, 20), "step_cycles": rng.randint(1, 6)}
    return MemoryElement(name=name, width_bits=widths, buffers=buffers, **given)


def random_hierarchy(rng: random.Random) -> Hierarchy:
    elements: list[Element] = [random_memory(rng, "DRAM")]
    kept = (TENSORS, TENSORS[:2], TENSORS[2:], TENSORS[1:], TENSORS[1:2])
    for place in range(rng.randint(1, 3)):
        room = rng.choice((None, rng.randint(200, 3000), {"output": rng.randint(50, 1000)}))
        elements.append(random_memory(rng, f"M{place}", keeps=rng.choice(kept), capacity_bits=room))
        for axis in "XY"[: rng.randint(0, 2)]:
            apart = [tensor for tensor in TENSORS if rng.random() < 0.3]
            size = rng.choice((2, 3, 4))
            elements.append(FanoutElement(name=f"F{place}{axis}", size=size, apart=apart))
    latches = [tensor for tensor in TENSORS if rng.random() < 0.1]
    return Hierarchy(elements, MacElement(simd=rng.choice((1, 1, 2, 3)), latches=latches, pj=1))


def values_of(evaluator: HierarchyEvaluator, below: Any, goal: str) -> np.ndarray[Any, Any]:
    """Return the values of all tiles and orders at the outermost memory, above some loops."""
    extents = [range(1, evaluator.shape.extents[dim] + 1) for dim in "PKC"]
    inner = evaluator.encode([[[], *below]])[0]
    tiles = np.array(list(itertools.product(*extents)), np.int32)
    values = []
    for order in itertools.permutations(range(3)):
        outer = np.zeros((len(tiles), 3, 3), np.int32)
        outer[:, :, 1] = [evaluator.shape.dim("PKC"[dim]) for dim in order]
        outer[:, :, 2] = tiles[:, order]
        rows = np.concatenate([outer, np.tile(inner, (len(tiles), 1, 1))], axis=1)
        figures, status = evaluator.evaluate_batch(np.ascontiguousarray(rows))
        named = dict(zip(FIGURES, figures.T, strict=True))
        named["edp_cycles_nj"] = named["latency_cycles"] * named["energy_nj"]
        values.append(named[goal][status == 0])
    return np.concatenate(values)


@given(seed=st.integers(0, 2**32), goal=st.sampled_from(GOALS))
@settings(max_examples=15, deadline=None)
def test_no_tiles_are_better_than_the_optimum(seed: int, goal: Goal) -> None:
    rng = random.Random(seed)
    shape = Shape({dim: rng.randint(1, 17) for dim in "PKC"})
    hierarchy = random_hierarchy(rng)
    found = find_optimum(shape, hierarchy, goal)
    assert found.gap == 0
    if found.mapping is None:
        assert found.value == math.inf
        return
    values = values_of(HierarchyEvaluator(shape, hierarchy), found.mapping[1:], goal)
    assert found.value == values.min()
    bounds = lower_bound(shape, hierarchy)
    assert getattr(bounds, goal) <= found.value * (1 + 1e-9)


@pytest.mark.parametrize("goal", GOALS)
def test_gemmini_s_tiles_are_proven_in_a_few_thousand_boxes(goal: Goal) -> None:
    chip = priced_gemmini()
    found = find_optimum(GEMM, chip, goal)
    assert found.gap == 0
    assert found.boxes < 5000
    assert found.mapping is not None
    cost, status = HierarchyEvaluator(GEMM, chip).evaluate(found.mapping)
    assert status == "ok"
    assert cost is not None
    value = {**vars(cost), "edp_cycles_nj": cost.latency_cycles * cost.energy_nj}[goal]
    assert value == found.value == found.bound


def test_blocks_fill_the_fan_outs_below_the_last_memory_before_them() -> None:
    found = find_optimum(GEMM, priced_gemmini(), "energy_nj")
    assert found.mapping is not None
    # By the layer's own names: its N are columns, its K is summed up.
    accumulator = [("N", 16), ("K", 16)]
    # Rows pass while filters stay in the registers.
    assert found.mapping[1:] == [[], accumulator, [("K", 1)], [("N", 1)], [("M", 1)]]


def test_a_search_that_ends_early_says_how_far_it_got() -> None:
    chip = priced_gemmini()
    early, proven = (
        find_optimum(GEMM, chip, "energy_nj", most_boxes=10),
        find_optimum(GEMM, chip, "energy_nj"),
    )
    assert early.boxes < proven.boxes
    assert early.bound < proven.value <= early.value
    assert early.gap == early.value / early.bound - 1 > 0


def test_where_nothing_fits_there_is_no_mapping() -> None:
    memories = [MemoryElement(name="DRAM"), MemoryElement(name="L1", capacity_bits=16)]
    found = find_optimum(Shape({"P": 4, "K": 4, "C": 4}), Hierarchy(memories))
    assert (found.mapping, found.value, found.gap) == (None, math.inf, 0)


def test_other_layers_accelerators_and_goals_are_refused() -> None:
    with pytest.raises(LayerError, match="loops K, C, P, Q, R, S; allowed: K, P, C"):
        find_optimum(find_layer("conv:K=2,C=3,Y=9,X=8,R=3,S=3"), priced_gemmini())
    straight = Hierarchy([MemoryElement(name="DRAM"), FanoutElement(name="X", size=2)])
    with pytest.raises(HardwareError, match="DRAM is the only memory before the fan-outs"):
        find_optimum(GEMM, straight)
    with pytest.raises(UnknownNameError, match="area"):
        find_optimum(GEMM, priced_gemmini(), "area")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="most_boxes is 0"):
        find_optimum(GEMM, priced_gemmini(), most_boxes=0)
