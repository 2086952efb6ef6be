"""The space of mappings on accelerators with any memories, and searches of it."""

from __future__ import annotations

import pickle
import random
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from gate import few
from hierarchy_cases import hierarchy_of, random_row
from hypothesis import given
from hypothesis import strategies as st
from map_space_helpers import layers
from mapper_helpers import LEARNERS, QUICK, SPENDERS

from maestro_env.accelerators.constraints import constrained
from maestro_env.accelerators.elements import FanoutElement, MacElement, MemoryElement
from maestro_env.accelerators.finding import chips_with, find_hierarchy
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.base.errors import (
    ArgumentTypeError,
    LayerError,
    MappingError,
    MapSpaceError,
    ModelError,
    UnknownNameError,
)
from maestro_env.evaluation.cost_and_status import METRICS, OK, STATUSES
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.hierarchy_problem import HierarchyProblem
from maestro_env.evaluation.masks import Masks
from maestro_env.evaluation.objectives import find_objective
from maestro_env.mappers import make_mapper
from maestro_env.mappers.parts.arrays import log_uniform
from maestro_env.mapspace.hierarchy_space import HierarchySpace
from maestro_env.workloads.finding import find_layer
from maestro_env.workloads.layer import Layer

LATENCY = find_objective("latency")
GEMM = find_layer("gemm:M=24,N=40,K=56")


@cache
def problem(chip: str = "gemmini") -> HierarchyProblem:
    return HierarchyProblem(HierarchySpace(find_layer("mobilenetv2_l2"), find_hierarchy(chip)))


def _drawn(seed: int) -> Hierarchy:
    """Return a random accelerator, whose memories and fan-outs may have limits."""
    rng = random.Random(seed)

    def limited(element: Any) -> Any:
        if isinstance(element, FanoutElement):
            return replace(element, size=rng.choice((1, 2, 3, 7, 16, None)))
        part = element.pool is not None or element.name == "M0"
        sizes = (None, 64, 400, 4000, {"input": 300}, {"filter": 64, "output": 640})
        buffers = rng.choice((1, 1, 2))
        return replace(element, capacity_bits=None if part else rng.choice(sizes), buffers=buffers)

    drawn = hierarchy_of(random_row(rng))
    return replace(drawn, elements=[limited(each) for each in drawn.elements])


hierarchies = st.one_of(
    st.builds(_drawn, st.integers(0, 2**32)),
    st.builds(find_hierarchy, st.sampled_from([*chips_with("memories")])),
)


@st.composite
def spaces(draw: st.DrawFn) -> HierarchySpace:
    layer = draw(layers().filter(lambda layer: layer.operator != "TRCONV"))
    return HierarchySpace(layer, draw(hierarchies), draw(st.sampled_from(("integers", "divisors"))))


# --- Vectors and mappings -------------------------------------------------------------------------


@given(spaces(), st.integers(0, 2**32))
def test_vectors_and_mappings_lead_to_each_other(space: HierarchySpace, seed: int) -> None:
    points = space.sample(10, np.random.default_rng(seed))
    clipped = space.clipped(points)
    mappings = [space.decode(point) for point in points]
    assert [space.decode(point) for point in clipped] == mappings
    np.testing.assert_array_equal([space.encode(mapping) for mapping in mappings], clipped)
    np.testing.assert_array_equal(space.clipped(clipped), clipped)
    identities = space.identities(points).tolist()
    assert (
        len(set(identities))
        == len(set(mappings))
        == len(set(zip(identities, mappings, strict=True)))
    )


@given(spaces(), st.integers(0, 2**32))
def test_a_vector_costs_what_its_mapping_does(space: HierarchySpace, seed: int) -> None:
    problem = HierarchyProblem(space)
    points = space.sample(10, np.random.default_rng(seed))
    rows, values = problem.evaluate(points, 2), problem.score(points, LATENCY)
    missing = problem.violations(points, rows)
    np.testing.assert_array_equal(values[1], rows.status)
    for place, point in enumerate(points):
        mapping = space.decode(point)
        cost, status = space.evaluator.evaluate(mapping)
        assert STATUSES[rows.status[place]] == status in ("ok", "pool_overflow", "overflow")
        assert (missing[place] > 0) == (status != "ok")
        assert (values[0][place] < np.inf) == (status == "ok")
        if cost is None:
            assert np.isnan(rows.metrics[place]).all()
            continue
        found = dict(zip(METRICS, rows.metrics[place], strict=True))
        assert found["latency_cycles"] == cost.latency_cycles
        assert found["macs"] == cost.macs == space.layer.macs
        least = (
            problem.lower_bounds if status == "ok" else {"latency_cycles": 0.0, "energy_nj": 0.0}
        )
        assert least["latency_cycles"] * (1 - 1e-9) <= cost.latency_cycles
        if "energy_nj" in problem.figures:
            assert found["energy_nj"] == cost.energy_nj >= least["energy_nj"] * (1 - 1e-9)
        else:
            assert cost.energy_nj == 0
        alone, named = problem.evaluate_mapping(mapping)
        assert alone is not None
        assert (alone.latency_cycles, named) == (cost.latency_cycles, status)


def _mappings(layer: dict[str, int], units: int) -> set[Any]:
    """Return all mappings of DRAM, a fan-out and a latched L1 whose units have like tiles."""
    chains = {}
    for dim, extent in layer.items():
        chains[dim] = {
            (tile * used, tile, last)
            for tile in range(1, extent + 1)
            for used in range(1, min(units, -(-extent // tile)) + 1)
            for last in range(1, tile + 1)
        }
    found = set()
    for chosen in product(*chains.values()):
        cuts = dict(zip(layer, chosen, strict=True))
        spatial, outer, inner, total = [], [], [], 1
        for dim, (step, tile, last) in cuts.items():
            box = min(step, layer[dim])
            outer += [(dim, step)] * (step < layer[dim])
            spatial += [(dim, tile)] * (tile < box)
            inner += [(dim, last)] * (last < tile)
            total *= -(-box // tile)
        if total > units:
            continue
        orders = [{tuple(each), tuple(reversed(each))} for each in (outer, inner)]
        found |= {(out, tuple(spatial), last) for out, last in product(*orders)}
    return found


@pytest.mark.parametrize("units", few([1, 2, 3], 2))
def test_the_space_has_all_mappings_of_like_units(units: int) -> None:
    memories = MemoryElement(name="DRAM"), MemoryElement(name="L1")
    fanout = FanoutElement(name="PEs", size=units)
    hierarchy = Hierarchy([memories[0], fanout, memories[1]], MacElement(latches=("filter",)))
    extents = {"M": 3, "K": 3}
    space = HierarchySpace(Layer("GEMM", {**extents, "N": 1}), hierarchy)
    every = np.stack(np.unravel_index(np.arange(space.size()), space.sizes), axis=1)
    distinct = np.unique(space.clipped(every.astype(np.int32)), axis=0)
    assert {space.decode(point) for point in distinct} == _mappings(extents, units)


# --- What is left out -----------------------------------------------------------------------------


def test_parameters_follow_the_elements() -> None:
    free = constrained(find_hierarchy("gemmini"), "none")
    names = list(HierarchySpace(problem().layer, free).columns)
    sizes = [f"tile_{dim}" for dim in "KCYXRS"]
    assert names[:7] == ["DRAM_order", *(f"DRAM_{name}" for name in sizes)]
    assert names[7:14] == ["scratchpad_order", *(f"scratchpad_{name}" for name in sizes)]
    # Weights of a PE are single: only outputs and their columns may be tiled above them.
    assert names[14:17] == ["accumulator_order", "accumulator_tile_Y", "accumulator_tile_X"]
    assert names[17:24] == ["rows_order", *(f"rows_units_{dim}" for dim in "KCYXRS")]
    assert {name.split("_")[0] for name in names[24:]} == {"columns"}


def _unlimited(hierarchy: Hierarchy) -> Hierarchy:
    roomy = [
        replace(each, capacity_bits=None) if isinstance(each, MemoryElement) else each
        for each in hierarchy.elements
    ]
    return replace(hierarchy, elements=roomy)


@given(hierarchies, st.integers(0, 2**32))
def test_no_mapping_that_fits_is_left_out(hierarchy: Hierarchy, seed: int) -> None:
    rng = np.random.default_rng(seed)
    roomy = HierarchySpace(GEMM, _unlimited(hierarchy))
    drawn = HierarchySpace(GEMM, hierarchy)
    for point in log_uniform(roomy, 20, rng):
        mapping = roomy.decode(point)
        if drawn.evaluator.evaluate(mapping)[1] == "ok":
            assert drawn.decode(drawn.encode(mapping)) == mapping


def test_masks_allow_what_is_valid() -> None:
    hierarchy = Hierarchy(
        [
            MemoryElement(name="DRAM"),
            MemoryElement(name="L2", capacity_bits=400, buffers=2),
            FanoutElement(name="PEs", size=3),
            MemoryElement(name="L1", capacity_bits={"filter": 16, "output": 16}),
        ]
    )
    space = HierarchySpace(Layer("GEMM", {"M": 4, "K": 3, "N": 2}), hierarchy)
    problem = HierarchyProblem(space)
    masks, rng = Masks(problem), np.random.default_rng(0)
    assert masks.complete
    assert (problem.evaluate(masks.sample(500, rng)).status == OK).all()
    points = space.sample(3000, rng)
    valid = problem.evaluate(points).status == OK
    assert 0.01 < valid.mean() < 0.99
    np.testing.assert_array_equal(masks.allow(points), valid)


@pytest.mark.slow
@pytest.mark.parametrize("chip", chips_with("memories"))
def test_what_masks_draw_on_chips_is_valid(chip: str) -> None:
    rng = np.random.default_rng(0)
    for name in ("resnet18_l2", "mobilenetv2_l2", "bert_base_l4", "gemm:M=1,N=1000,K=2048"):
        made = HierarchyProblem(HierarchySpace(find_layer(name), find_hierarchy(chip)))
        drawn = Masks(made).sample(50_000, rng)
        assert (made.evaluate(drawn).status == OK).all()


# --- Searches -------------------------------------------------------------------------------------

TWO_LEVELS = ("gamma", "library", "prior", "prior_adapted")


@pytest.mark.parametrize(
    "mapper",
    [
        pytest.param(text, id=name, marks=[pytest.mark.slow] * (name in LEARNERS))
        for name, text in zip(SPENDERS, QUICK, strict=True)
        if name not in TWO_LEVELS
    ],
)
def test_a_mapper_searches_any_memories(mapper: str) -> None:
    evaluator = Evaluator(problem(), LATENCY, 200)
    make_mapper(mapper).search(evaluator, 200, np.random.default_rng(1))
    assert evaluator.used == 200
    assert evaluator.best is not None
    assert evaluator.valid > 1
    assert evaluator.best.cost.latency_cycles == evaluator.best.value
    assert evaluator.best.cost.area_um2 is None


def test_a_search_gets_near_the_bound() -> None:
    square = HierarchySpace(find_layer("gemm:M=512,N=512,K=512"), find_hierarchy("gemmini"))
    evaluator = Evaluator(HierarchyProblem(square), LATENCY, 2000)
    make_mapper("ga").search(evaluator, 2000, np.random.default_rng(0))
    assert evaluator.best is not None
    # All 256 PEs in nearly every cycle.
    assert evaluator.best.value < 1.05 * evaluator.problem.lower_bounds["latency_cycles"]


@pytest.mark.parametrize(
    "mapper",
    [
        *(each for each in (*TWO_LEVELS, "ga:start=prior") if each not in LEARNERS),
        pytest.param("prior_adapted", marks=pytest.mark.slow),
    ],
)
def test_mappers_of_two_levels_say_so(mapper: str) -> None:
    if mapper == "prior_adapted":
        pytest.importorskip("torch")
    evaluator = Evaluator(problem(), LATENCY, 10)
    with pytest.raises(ModelError, match="needs mappings of two levels") as refused:
        make_mapper(mapper).search(evaluator, 10, np.random.default_rng(0))
    assert "\n" not in str(refused.value)


# --- Refusals -------------------------------------------------------------------------------------


def test_an_objective_without_figures_is_refused() -> None:
    with pytest.raises(ModelError, match="edp needs energy_nj, which model hierarchy does not"):
        Evaluator(problem(), find_objective("edp"))
    memory = MemoryElement(name="DRAM", read_pj_per_bit=1)
    costly = HierarchyProblem(HierarchySpace(GEMM, Hierarchy([memory])))
    edp, energy = find_objective("edp"), find_objective("energy")
    evaluator = Evaluator(costly, edp, 1)
    assert (evaluator.evaluate(costly.space.sample(1, np.random.default_rng(0))).values > 0).all()
    with pytest.raises(ModelError, match="area needs area_um2"):
        costly.observe(np.zeros(len(costly.space.sizes), int), find_objective("area"))
    assert costly.score(np.zeros((1, len(costly.space.sizes)), np.int32), energy)[0] > 0


def test_what_is_no_space_vector_or_mapping_is_refused() -> None:
    space = problem().space
    with pytest.raises(ArgumentTypeError, match="hardware"):
        HierarchySpace(space.layer, "gemmini")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="tiles"):
        replace(space, tiles="primes")
    with pytest.raises(LayerError, match="transposed"):
        HierarchySpace(replace(find_layer("mobilenetv2_l2"), operator="TRCONV"), space.hardware)
    with pytest.raises(ArgumentTypeError, match="space"):
        HierarchyProblem(5)  # type: ignore[arg-type]
    for point in (np.full(len(space.sizes), -1), np.zeros(3, int)):
        with pytest.raises(MapSpaceError):
            space.decode(point)
    with pytest.raises(MapSpaceError, match="DRAM_order = -1 is not in 0"):
        problem().evaluate(np.full((1, len(space.sizes)), -1, np.int32))
    with pytest.raises(MappingError):
        space.encode([[]])
    unlike: list[list[tuple[str, int]]] = [[] for _ in space.hardware.elements]
    unlike[space.hardware.names.index("rows")] = [("C", 9)]
    with pytest.raises(MapSpaceError, match="no such mapping"):
        space.encode(unlike)


def test_a_problem_can_be_pickled_and_says_why_nothing_fits() -> None:
    copy = pickle.loads(pickle.dumps(problem()))
    points = problem().space.sample(20, np.random.default_rng(0))
    again, rows = copy.evaluate(points), problem().evaluate(points)
    np.testing.assert_array_equal(again.metrics, rows.metrics)
    assert problem().why_nothing_fits() == ""
    tiny = Hierarchy([MemoryElement(name="DRAM"), MemoryElement(name="L1", capacity_bits=7)])
    nothing = HierarchyProblem(HierarchySpace(GEMM, tiny))
    assert "smallest tiles take these bits: L1 24;" in nothing.why_nothing_fits()
    with pytest.raises(MapSpaceError, match="no mapping fits"):
        Masks(nothing).sample(1, np.random.default_rng(0))
