"""Distances between problems, and mappings carried from one to another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from map_space_helpers import layers, spaces

from maestro_env.accelerators.finding import find_hierarchy
from maestro_env.accelerators.hardware import PRESETS, Hardware, hardware_distance
from maestro_env.base.errors import ArgumentTypeError, MapSpaceError, ModelError, UnknownNameError
from maestro_env.evaluation.hierarchy_problem import HierarchyProblem
from maestro_env.evaluation.problem import Problem
from maestro_env.evaluation.transfer import (
    KEEPS,
    Mapped,
    layer_distance,
    nearest,
    spread,
    start_from,
    transfer,
)
from maestro_env.mapspace.hierarchy_space import HierarchySpace
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.finding import all_layers, find_layer
from maestro_env.workloads.layer import Layer

problems = spaces().map(Problem)


def drawn(problem: Problem, seed: int) -> np.ndarray:
    return problem.space.sample(1, np.random.default_rng(seed))[0]


@given(problems, problems, st.integers(0, 99), st.sampled_from(tuple(KEEPS)))
def test_what_is_transferred_is_in_the_space(
    source: Problem, target: Problem, seed: int, keep: str
) -> None:
    vector = drawn(source, seed)
    found = transfer(vector, source, target, keep)
    assert found.dtype == np.int32
    assert ((found >= 0) & (found < target.space.sizes)).all()
    mapping = source.space.decode(vector)
    np.testing.assert_array_equal(found, transfer(mapping, source, target, keep))


@given(problems, st.integers(0, 99))
def test_a_mapping_is_its_own_transfer(problem: Problem, seed: int) -> None:
    vector = drawn(problem, seed)
    found = transfer(vector, problem, problem)
    assert problem.space.decode(found) == problem.space.decode(vector)


@given(problems, st.integers(0, 99))
def test_orders_and_parallel_loops_are_kept_and_sizes_cut(problem: Problem, seed: int) -> None:
    layer, hardware = problem.layer, problem.hardware
    shape = {
        name: extent
        if name in "RS"
        else max(extent // 2, layer.extents.get({"Y": "R", "X": "S"}.get(name, ""), 1))
        for name, extent in layer.extents.items()
    }
    smaller = Layer(layer.operator, shape, layer.stride)
    if smaller.loop_extents.get("N") != layer.loop_extents.get("N"):
        return
    space = MapSpace(smaller, hardware, problem.space.schema)
    source = Problem(replace(problem.space, tiles="integers"))
    vector = drawn(source, seed)
    before, after = (
        source.space.decode(vector),
        space.decode(transfer(vector, source, Problem(space))),
    )
    for old, new in zip(before.levels, after.levels, strict=True):
        assert [(loop.dim, loop.spatial) for loop in old.loops] == [
            (loop.dim, loop.spatial) for loop in new.loops
        ]
        assert old.cluster_size == new.cluster_size
        for was, now in zip(old.loops, new.loops, strict=True):
            assert now.size == min(was.size, space.extents[now.dim])


def test_a_product_is_a_convolution_of_one_element() -> None:
    product = Layer("GEMM", {"M": 56, "N": 64, "K": 32})
    window = Layer("CONV", {"K": 64, "C": 32, "Y": 56, "X": 1, "R": 1, "S": 1})
    assert layer_distance(product, window) == 2.0  # The operators differ.
    source, target = (Problem(MapSpace(each, PRESETS["edge"])) for each in (product, window))
    names = {"M": "Y'", "N": "K", "K": "C"}
    for seed in range(20):
        vector = drawn(source, seed)
        old = source.space.decode(vector)
        new = target.space.decode(transfer(vector, source, target))
        for one, other in zip(old.levels, new.levels, strict=True):
            loops = [(names[loop.dim], loop.size, loop.spatial) for loop in one.loops]
            kept = [
                (loop.dim, loop.size, loop.spatial)
                for loop in other.loops
                if loop.dim in names.values()
            ]
            assert loops == kept


def test_the_cluster_size_is_scaled_with_the_pes() -> None:
    layer = find_layer("resnet18_l2")
    small, large = (Problem(MapSpace(layer, Hardware(pes))) for pes in (100, 1000))
    vector = drawn(small, 0)
    size = small.space.decode(vector).levels[1].cluster_size
    assert large.space.decode(transfer(vector, small, large)).levels[1].cluster_size == 10 * size


def test_the_number_of_tiles_is_kept() -> None:
    # By hand: 60 in tiles of 20 are 3 tiles, of 100 in 34; 20 in tiles of 7 are 3, of 34 in 12.
    source, target = (
        Problem(MapSpace(Layer("GEMM", {"M": m, "N": 8, "K": 8}), PRESETS["edge"]))
        for m in (60, 100)
    )
    vector = drawn(source, 0)
    columns = source.space.columns
    vector[columns["l2_tile_M"]], vector[columns["l1_tile_M"]] = 19, 6
    found = transfer(vector, source, target, "tiles")
    assert (found[columns["l2_tile_M"]], found[columns["l1_tile_M"]]) == (33, 11)


@given(layers(), layers(), layers())
def test_the_distance_is_a_metric(one: Layer, other: Layer, third: Layer) -> None:
    apart = layer_distance(one, other)
    assert apart == layer_distance(other, one) >= 0
    assert layer_distance(one, one) == 0
    loops = [
        (each.operator, {**each.loop_extents, "N": each.loop_extents.get("N", 1)})
        for each in (one, other)
    ]
    if "GEMM" not in (one.operator, other.operator):
        assert (apart == 0) == (loops[0] == loops[1] and one.stride == other.stride)
    assert apart <= layer_distance(one, third) + layer_distance(third, other) + 1e-9


def test_hardware_of_equal_figures_is_not_apart() -> None:
    edge = PRESETS["edge"]
    assert hardware_distance(edge, replace(edge, name="other")) == 0
    assert hardware_distance(edge, replace(edge, l1_bytes=1025 * 512)) > 9


def test_the_nearest_come_first_and_equals_in_their_order() -> None:
    edge = PRESETS["edge"]
    everything = [
        Mapped(Problem(MapSpace(each, edge)), drawn(Problem(MapSpace(each, edge)), 0))
        for each in all_layers()[:30]
    ]
    problem = Problem(MapSpace(find_layer("resnet18_l2"), edge))
    near = nearest(problem, everything)
    apart = [layer_distance(problem.layer, each.problem.layer) for each in everything]
    assert [everything.index(each) for each in near] == sorted(
        range(30), key=lambda i: (apart[i], i)
    )[:4]
    assert nearest(problem, []) == []


@given(st.lists(layers(), min_size=1, max_size=12))
def test_waves_go_from_far_to_near_and_double(found: list[Layer]) -> None:
    waves = spread(found)
    order = [index for wave in waves for index in wave]
    assert sorted(order) == list(range(len(found)))
    assert [len(wave) for wave in waves[:-1]] == [1, 1, 2, 4][: len(waves) - 1]
    assert found[order[0]].macs == max(each.macs for each in found)

    def apart(index: int, place: int) -> float:
        return min(layer_distance(found[index], found[each]) for each in order[:place])

    for place in range(1, len(order)):
        farthest = max(apart(index, place) for index in order[place:])
        assert apart(order[place], place) >= farthest - 1e-9


def test_a_start_has_what_each_of_the_nearest_gives_once() -> None:
    edge = PRESETS["edge"]
    sources = [Problem(MapSpace(find_layer(f"resnet18_l{i}"), edge)) for i in (0, 2, 6)]
    mapped = [Mapped(each, drawn(each, 1)) for each in sources]
    target = Problem(MapSpace(find_layer("resnet18_l11"), edge))
    points = start_from(target, [*mapped, mapped[0]])
    expected = {
        target.space.decode(transfer(each.vector, each.problem, target, keep))
        for each in mapped
        for keep in KEEPS
    }
    assert len(points) == len(expected)
    assert {target.space.decode(each) for each in points} == expected
    assert start_from(target, []).shape == (0, len(target.space.parameters))


def test_what_is_no_mapping_of_the_source_is_refused() -> None:
    problem = Problem(MapSpace(find_layer("resnet18_l2"), PRESETS["edge"]))
    with pytest.raises(MapSpaceError):
        transfer([1, 2], problem, problem)
    with pytest.raises(MapSpaceError):
        transfer([10**6] * len(problem.space.parameters), problem, problem)
    with pytest.raises(ArgumentTypeError):
        transfer(drawn(problem, 0), problem.space, problem)  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="unknown keep 'all'"):
        transfer(drawn(problem, 0), problem, problem, "all")


NEST_LAYERS = [
    Layer("CONV", {"K": k, "C": c, "Y": y, "X": 9, "R": r, "S": r}, (stride, stride))
    for k, c, y, r, stride in ((8, 8, 9, 3, 1), (6, 20, 12, 1, 1), (32, 3, 9, 5, 2))
]
NESTS = [
    HierarchyProblem(HierarchySpace(layer, find_hierarchy(chip)))
    for chip in ("gemmini", "eyeriss")
    for layer in NEST_LAYERS
]


@given(
    st.sampled_from(NESTS), st.sampled_from(NESTS), st.integers(0, 99), st.sampled_from([*KEEPS])
)
def test_vectors_of_any_memories_are_transferred_to_vectors(
    source: HierarchyProblem, target: HierarchyProblem, seed: int, keep: str
) -> None:
    vector = source.space.sample(1, np.random.default_rng(seed))[0]
    if source.hardware != target.hardware:
        with pytest.raises(ModelError, match="on the same accelerator"):
            transfer(vector, source, target, keep)
        assert len(start_from(target, [Mapped(source, vector)])) == 0
        return
    found = transfer(vector, source, target, keep)
    assert ((found >= 0) & (found < target.space.sizes)).all()
    if source is target and keep == "sizes":
        assert source.space.decode(found) == source.space.decode(vector)
    orders = [each.kind == "order" for each in source.space.parameters]
    clipped = source.space.clipped(vector[np.newaxis])[0]
    assert (found[orders] == clipped[orders]).all()


def test_tiles_of_any_memories_keep_their_size_or_number() -> None:
    # By hand: 60 in tiles of 20 are 3 tiles, of 100 in 34.
    source, target = (
        HierarchyProblem(HierarchySpace(find_layer(f"gemm:M={m},N=8,K=8"), find_hierarchy("simba")))
        for m in (60, 100)
    )
    column = source.space.columns["DRAM_tile_M"]
    vector = (source.space.sizes - 1).astype(np.int32)
    vector[column] = source.space.parameters[column].choice(20)
    for keep, tile in (("sizes", 20), ("tiles", 34)):
        found = transfer(vector, source, target, keep)
        assert target.space.parameters[column].values[found[column]] == tile
