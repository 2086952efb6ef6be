"""``maestro-env misses``: what is the same mapping, how mappings differ, and what would improve."""

from __future__ import annotations

import shutil
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from commands import misses
from compare_helpers import compare
from hypothesis import given
from map_space_helpers import points as points_of
from map_space_helpers import spaces

from experiments.commands.misses.canonical import canonical, differences
from experiments.commands.misses.neighbours import least_change
from experiments.commands.misses.optima import UnprovenError, known_optima, prove
from experiments.search.goals import Goal
from maestro_env.accelerators.hardware import Hardware
from maestro_env.evaluation.objectives import find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.space import MapSpace, Points
from maestro_env.workloads.finding import find_layer
from maestro_env.workloads.layer import Layer

GEMM = MapSpace(find_layer("gemm:M=8,N=8,K=8"), Hardware(num_pes=8))
SMALL = MapSpace(Layer("GEMM", {"M": 3, "N": 2, "K": 4}), Hardware(4, noc_bw=1), tiles="divisors")


def vector(space: MapSpace = GEMM, **values: int | str) -> Points:
    """A vector of sizes, dimensions and ranks of orders; all else is the first choice."""
    point = np.zeros(len(space.parameters), dtype=np.int32)
    for name, value in values.items():
        point[space.columns[name]] = space.parameter(name).values.index(value)  # type: ignore[arg-type]
    return point


def differing(one: Points, other: Points) -> set[str]:
    both = canonical(GEMM, np.stack([one, other]))
    (differ,) = differences(GEMM, both[0], both[1:])
    return {GEMM.parameters[column].name for column in np.flatnonzero(differ)}


@pytest.fixture(scope="module")
def goal() -> Goal:
    return Goal(Problem(SMALL), find_objective("edp"), None)


@pytest.fixture(scope="module")
def vectors() -> Points:
    """All of a small space."""
    return np.array(list(product(*map(range, SMALL.sizes))), dtype=np.int32)


@given(spaces().flatmap(lambda space: points_of(space).map(lambda point: (space, point))))
def test_the_canonical_vector_costs_the_same(drawn: tuple[MapSpace, Points]) -> None:
    space, point = drawn
    problem = Problem(space)
    made = canonical(space, point[np.newaxis])
    one, other = problem.evaluate(point[np.newaxis]), problem.evaluate(made)
    assert np.array_equal(one.status, other.status)
    assert np.array_equal(one.metrics, other.metrics, equal_nan=True)
    assert np.array_equal(canonical(space, made), made)


def test_the_vectors_of_one_execution_become_one(vectors: Points) -> None:
    # What a mapping executes: chunks of each level, the order of those of several steps, PEs.
    sample = vectors[:: len(vectors) // 3000]
    made = [point.tobytes() for point in canonical(SMALL, sample)]
    executed = [execution(point) for point in sample]
    assert len(set(zip(made, executed, strict=True))) == len(set(made)) == len(set(executed))


def execution(point: Points) -> tuple[object, ...]:
    """What a mapping of ``SMALL`` executes, from its loops."""
    outer, inner = SMALL.decode(point).levels
    assert inner.cluster_size is not None
    received = dict(SMALL.extents)
    told: list[object] = [inner.cluster_size]
    for level, units in ((outer, 4 // inner.cluster_size), (inner, inner.cluster_size)):
        sizes = {loop.dim: min(loop.size, received[loop.dim]) for loop in level.loops}
        chunks = {dim: -(-received[dim] // size) for dim, size in sizes.items()}
        (parallel,) = (loop.dim for loop in level.loops if loop.spatial)
        dealt = parallel if units > 1 and chunks[parallel] > 1 else None
        steps = {dim: -(-n // units) if dim == dealt else n for dim, n in chunks.items()}
        order = tuple(loop.dim for loop in level.loops if steps[loop.dim] > 1)
        told += [tuple(sorted(sizes.items())), dealt, order]
        received = sizes
    return tuple(told)


def test_an_inner_tile_is_cut_to_the_outer() -> None:
    outer = {"l2_tile_M": 4, "l2_tile_N": 8, "l2_tile_K": 8}
    whole = vector(**outer, l1_tile_M=8)
    assert differing(whole, vector(**outer, l1_tile_M=4)) == set()
    assert differing(whole, vector(**outer, l1_tile_M=3)) == {"l1_tile_M"}


def test_orders_differ_only_by_loops_that_move() -> None:
    # Orders by rank: 0 is M, N, K, 1 is M, K, N, and 2 is N, M, K.
    still = {"l2_tile_M": 8, "l1_tile_M": 8, "l2_parallel": "K", "l1_parallel": "K"}
    one = vector(**still, l2_tile_N=2, l2_tile_K=8, l2_order=0)
    assert differing(one, vector(**still, l2_tile_N=2, l2_tile_K=8, l2_order=2)) == set()
    moving = {**still, "l2_tile_M": 2, "l2_tile_N": 2, "l2_tile_K": 8}
    assert differing(vector(**moving), vector(**moving, l2_order=1)) == set()
    assert differing(vector(**moving), vector(**moving, l2_order=2)) == {"l2_order"}


def test_a_parallel_loop_of_one_unit_is_any() -> None:
    assert differing(vector(l1_parallel="M"), vector(l1_parallel="K")) == set()
    assert differing(vector(l2_parallel="M"), vector(l2_parallel="K")) == {"l2_parallel"}


def test_an_optimum_is_proven_and_others_found(vectors: Points) -> None:
    goal = Goal(Problem(SMALL), find_objective("area"), None)
    values = goal.problem.score(vectors, goal.objective)[0]
    optimum, least = prove(goal, vectors[:5], 10**6)
    assert least == values.min()
    optima = known_optima(goal, optimum)
    assert {point.tobytes() for point in optima} <= {
        point.tobytes() for point in canonical(SMALL, vectors[values == least])
    }
    assert len(np.unique(optima, axis=0)) == len(optima) > 1


def test_a_proof_that_takes_too_long_is_refused(vectors: Points) -> None:
    goal = Goal(Problem(GEMM), find_objective("edp"), None)
    with pytest.raises(UnprovenError, match="edp, is not proven after 1 boxes"):
        prove(goal, np.zeros((1, len(GEMM.parameters)), dtype=np.int32), 1)


def test_the_least_change_is_that_of_all_vectors(goal: Goal, vectors: Points) -> None:
    values = goal.problem.score(vectors, goal.objective)[0]
    optimum = canonical(SMALL, vectors[values == values.min()])[0]
    rng = np.random.default_rng(0)
    near = np.flatnonzero((values > values.min()) & (values < 1.2 * values.min()))
    seen = set()
    for index in rng.choice(near, 60):
        point = vectors[index]
        better = vectors[values < values[index]]
        least = np.count_nonzero(better != point, axis=1).min()
        change = least_change(goal, point, optimum)
        seen.add(len(change))
        assert len(change) == least if least <= 2 else len(change) >= least
    assert {1, 2} <= seen


def test_the_ends_of_a_comparison_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert compare(out, "--hardware=edge", "--mappers=random,optimum", seeds=1) == 0
    capsys.readouterr()
    assert misses([str(out)]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    rows = {line[0]: line[1:5] for line in lines if line and line[0] in ("random", "optimum")}
    assert rows["random"][:2] == ["1", "1"]
    assert float(rows["random"][2]) > 1


def test_no_valid_mapping_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tiny = tmp_path / "tiny.yaml"
    tiny.write_text("num_pes: 4\nl1_bytes: 1\n")
    assert compare(tmp_path / "out", f"--hardware={tiny}", "--mappers=random", samples=20) == 0
    capsys.readouterr()
    assert misses([str(tmp_path / "out")]) == 0
    assert capsys.readouterr().err == "no search found a valid mapping\n"


def test_other_runs_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(tmp_path / "out", "--model=maestro", "--mappers=random", samples=20) == 0
    capsys.readouterr()
    assert misses([str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == "error: model maestro has no bounds; allowed: exact\n"
    shutil.rmtree(tmp_path / "out" / "cells")
    assert misses([str(tmp_path / "out")]) == 2
    assert "has no searches" in capsys.readouterr().err
