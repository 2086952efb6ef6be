"""Mappings that cost the same, of which a search for the optimum looks into one."""

from __future__ import annotations

import math
from random import Random

import numpy as np
from boxes import random_points, random_problem
from hypothesis import assume, given
from hypothesis import strategies as st
from optimum_helpers import EDP, LATENCY, distinct_choices, every_vector, finish

from maestro_env._native import METRICS
from maestro_env.accelerators.hardware import Hardware
from maestro_env.evaluation.objectives import OBJECTIVES
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.mapping import Mapping
from maestro_env.mapspace.space import Points, lehmer_rank
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.optimum.search import OptimumSearch
from maestro_env.workloads.layer import Layer

COSTS = [METRICS.index(name) for name in ("latency_cycles", "energy_nj", "area_um2")]
SEEDS = st.integers(0, 2**32 - 1)


def assert_cost_the_same(task: Problem, points: Points, others: Points) -> None:
    one, other = task.evaluate(points), task.evaluate(others)
    np.testing.assert_array_equal(one.status, other.status)
    np.testing.assert_array_equal(one.metrics[:, COSTS], other.metrics[:, COSTS])


@given(SEEDS, st.sampled_from(["l2", "l1"]), st.booleans())
def test_it_does_not_matter_which_loop_is_dealt_to_one_unit_or_in_one_chunk(
    seed: int, level: str, to_one_unit: bool
) -> None:
    rng, draws = Random(seed), np.random.default_rng(seed)
    task = random_problem(rng)
    space, columns = task.space, task.space.columns
    parallel = space.parallel_dims_of(level)
    if f"{level}_parallel" not in columns or "cluster_size" not in columns:
        return
    points = random_points(space, 50, draws)
    first, second = (rng.randrange(len(parallel)) for _ in range(2))
    if to_one_unit:
        points[:, columns["cluster_size"]] = space.sizes[columns["cluster_size"]] - 1
        if level == "l1":
            points[:, columns["cluster_size"]] = 0
    else:
        for each in (parallel[first], parallel[second]):
            column = columns.get(f"{level}_tile_{each.rstrip(chr(39))}")
            if column is not None:
                points[:, column] = space.sizes[column] - 1
            elif space.extents[each] > 1:
                return
    others = points.copy()
    points[:, columns[f"{level}_parallel"]] = first
    others[:, columns[f"{level}_parallel"]] = second
    assert_cost_the_same(task, points, others)


@given(SEEDS)
def test_larger_clusters_with_more_idle_pes_cost_no_more(seed: int) -> None:
    rng, draws = Random(seed), np.random.default_rng(seed)
    task = random_problem(rng)
    space = task.space
    if "cluster_size" not in space.columns:
        return
    points = random_points(space, 50, draws)
    others = points.copy()
    column = space.columns["cluster_size"]
    sizes, pes = np.array(space.parameter("cluster_size").values), task.hardware.num_pes
    for point, other in zip(points, others, strict=True):
        pieces, chunks = most_at_work(space.decode(point), space)
        enough = np.flatnonzero(sizes >= chunks)
        if len(enough):
            point[column] = rng.choice(enough.tolist())
            working = np.minimum(pes // sizes, pieces)
            alike = np.flatnonzero(working == working[point[column]])
            other[column] = rng.choice(alike[alike >= point[column]].tolist())
    one, larger = task.evaluate(points), task.evaluate(others)
    assert not larger.status[one.status == 0].any()
    costs, larger_costs = (each.metrics[one.status == 0][:, COSTS] for each in (one, larger))
    np.testing.assert_array_equal(costs[:, 0], larger_costs[:, 0])
    assert (larger_costs <= costs).all()


def most_at_work(mapping: Mapping, space: MapSpace) -> tuple[int, int]:
    """Return the pieces that clusters share, and the chunks of one that PEs share, at most."""
    outer, inner = mapping.levels
    tiles = {loop.dim: min(loop.size, space.extents[loop.dim]) for loop in outer.loops}
    (dealt,) = (loop.dim for loop in outer.loops if loop.spatial)
    (below,) = (loop for loop in inner.loops if loop.spatial)
    chunks = -(-tiles[below.dim] // min(below.size, tiles[below.dim]))
    return -(-space.extents[dealt] // tiles[dealt]), chunks


@st.composite
def square_problems(draw: st.DrawFn, most: int = 9) -> Problem:
    """Draw convolutions whose rows and columns are alike."""
    taps, stride = draw(st.integers(1, 2)), draw(st.integers(1, 3))
    rows = taps + draw(st.integers(0, most))
    extents = {dim: draw(st.integers(1, 2)) for dim in "KC"}
    extents |= {"Y": rows, "X": rows, "R": taps, "S": taps}
    machine = Hardware(
        num_pes=draw(st.integers(1, 12)),
        l1_bytes=draw(st.sampled_from([40, 200, 2**30])),
        l2_bytes=draw(st.sampled_from([200, 1000, 2**30])),
        noc_bw=draw(st.sampled_from([1, 5, 2**30])),
        offchip_bw=draw(st.sampled_from([1, 4, 2**30])),
        noc_hop_latency=draw(st.integers(0, 2)),
    )
    layer = Layer("CONV", extents, (stride, stride))
    return Problem(MapSpace(layer, machine, draw(st.sampled_from(["legal13", "full17"]))))


def mirrored(space: MapSpace, points: Points) -> Points:
    """Return vectors with rows for columns and columns for rows."""
    other = {"Y'": "X'", "X'": "Y'", "R": "S", "S": "R"}
    dims, columns, found = list(space.extents), space.columns, points.copy()
    for name, column in columns.items():
        level, _, dim = name.partition("_tile_")
        for each, swapped in other.items():
            if dim == each.rstrip("'"):
                wanted = columns[f"{level}_tile_{swapped.rstrip(chr(39))}"]
                found[:, column] = points[:, wanted]
        if name.endswith("_parallel"):
            values = list(space.parameters[column].values)
            swap = [values.index(other.get(each, each)) for each in values]
            found[:, column] = np.array(swap)[points[:, column]]
        if name.endswith("_order"):
            orders = [space.decode(point).levels[name.startswith("l1")] for point in points]
            ranks = [
                lehmer_rank([dims.index(other.get(loop.dim, loop.dim)) for loop in level.loops])
                for level in orders
            ]
            found[:, column] = ranks
    return found


@given(square_problems(), SEEDS)
def test_a_mapping_and_its_mirror_image_cost_the_same(task: Problem, seed: int) -> None:
    points = random_points(task.space, 50, np.random.default_rng(seed))
    assert_cost_the_same(task, points, mirrored(task.space, points))


@given(square_problems(most=1))
def test_the_optimum_of_a_square_layer_is_that_of_all_its_vectors(task: Problem) -> None:
    assume(math.prod(map(len, distinct_choices(task.space))) < 50_000)
    vectors = every_vector(task.space)
    for objective in (EDP, LATENCY, OBJECTIVES["energy"]):
        found = finish(OptimumSearch(task, objective), task, objective)
        assert found.best == found.bound == task.score(vectors, objective)[0].min()
