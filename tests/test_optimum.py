"""The search for the optimum: bounds, brute force, known optima, and what it refuses."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from boxes import least_multiples, main, random_problem
from gate import few
from hypothesis import given, settings
from hypothesis import strategies as st
from optimum_helpers import (
    EDP,
    LATENCY,
    every_vector,
    finish,
    problem,
    small_problems,
    solve,
    solved,
)

from maestro_env import _native, known_optimum
from maestro_env.accelerators.finding import find_hardware
from maestro_env.accelerators.hardware import Hardware
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.objectives import OBJECTIVES, Objective, find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.mappers import make_mapper
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.optimum.search import OptimumError, OptimumSearch
from maestro_env.workloads.finding import find_layer


@given(st.integers(0, 2**32 - 1))
def test_no_mapping_costs_less_than_the_bound_of_a_box_that_holds_it(seed: int) -> None:
    rng = Random(seed)
    least_multiples(random_problem(rng), rng, 100)


@pytest.mark.slow
def test_a_million_mappings_cost_no_less_than_the_bounds_of_their_boxes() -> None:
    main()


@given(small_problems(most=20_000))
def test_the_optimum_of_a_small_space_is_that_of_all_its_vectors(task: Problem) -> None:
    assert_equals_brute_force(task)


@pytest.mark.slow
@settings(max_examples=400)
@given(small_problems(most=200_000))
def test_the_optima_of_many_small_spaces_are_those_of_all_their_vectors(task: Problem) -> None:
    assert_equals_brute_force(task)


def assert_equals_brute_force(task: Problem) -> None:
    points = every_vector(task.space)
    products = map(find_objective, ("ed2p", "area*latency*energy"))
    for objective in (*OBJECTIVES.values(), *products):
        search = solve(task, objective)
        assert search.best == search.bound == task.score(points, objective)[0].min()
        if search.best_point is None:
            assert search.best == math.inf
        else:
            found = search.best_point[np.newaxis]
            assert task.score(found, objective)[0][0] == search.best


# Found by a prototype with another bound and another search; those of divisors by evaluating every
# mapping that no bound of its first PE ruled out.
@pytest.mark.parametrize(
    ("layer", "hardware", "tiles", "objective", "optimum"),
    [
        ("mobilenetv2_l2", "edge", "integers", "edp", 7.35057e8),
        ("mobilenetv2_l2", "edge", "integers", "latency", 39_516),
        ("resnet18_l2", "edge", "integers", "edp", 1.605640e11),
        ("mobilenetv2_l2", "unlimited", "integers", "edp", 1.15826e8),
        ("conv:K=8,C=8,Y=10,X=10,R=3,S=3", "unlimited", "divisors", "edp", 51_430.9),
        ("conv:K=8,C=8,Y=10,X=10,R=3,S=3", "unlimited", "divisors", "latency", 582),
        ("mobilenetv2_l2", "unlimited", "divisors", "edp", 1.23391e8),
        ("resnet18_l2", "unlimited", "divisors", "edp", 2.40862e10),
        *few(
            [
                ("bert_base_l4", "edge", "integers", "edp", 9.987315e12),
                ("gpt2_l4", "edge", "integers", "latency", 14_402_299),
                ("bert_base_l4", "unlimited", "integers", "latency", 884_742),
            ],
            0,
        ),
    ],
)
def test_known_optima(
    layer: str, hardware: str, tiles: str, objective: str, optimum: float
) -> None:
    task = Problem(MapSpace(find_layer(layer), find_hardware(hardware), tiles=tiles))
    goal = find_objective(objective)
    known = known_optimum(task, goal)
    assert (known is None) == (tiles == "divisors")
    if known is not None:
        assert known.proven
        assert known.value == pytest.approx(optimum, rel=1e-6)
    if known is None or known.nodes < 400_000:
        found = solve(task, goal).best
        assert found == (known.value if known else pytest.approx(optimum, rel=3e-6))


def test_the_bound_is_never_below_that_of_the_objective() -> None:
    task = problem("resnet18_l2")
    for objective in OBJECTIVES.values():
        search = OptimumSearch(task, objective)
        assert search.bound >= objective.bound(task.layer, task.hardware)


def test_what_is_asked_for_does_not_depend_on_threads() -> None:
    one, two = solved("mobilenetv2_l2"), solve(problem("mobilenetv2_l2"), EDP, threads=2)
    assert (one.nodes, one.best) == (two.nodes, two.best)
    assert one.best_point.tolist() == two.best_point.tolist()


def with_room_for(most_open: int, task: Problem, objective: Objective = EDP) -> OptimumSearch:
    """Return a search in which so many boxes may wait."""
    search, space = OptimumSearch(task, objective), task.space
    of = (space.layer.native, space.hardware.native, space.native, objective.columns)
    search._native = _native.OptimumSearch(*of, most_open=most_open)
    return search


def on_slow_networks(gemm: str) -> Problem:
    """Return a problem whose transfers take as long as its MACs."""
    machine = Hardware(84, l1_bytes=902, l2_bytes=345_581, noc_bw=6, offchip_bw=6, simd_lanes=2)
    return Problem(MapSpace(find_layer(gemm), machine))


def test_steps_counted_by_their_transfers_shorten_a_proof() -> None:
    search = solve(on_slow_networks("gemm:M=4,N=20,K=60"), LATENCY)
    assert search.best == 260
    assert search.nodes < 150_000  # 1.5 million without lemmas 18 to 20 and the first fill


def test_the_boxes_that_wait_are_bounded() -> None:
    energy = OBJECTIVES["energy"]
    task = problem("vgg16_l8", "num_pes=256,l1_bytes=512,l2_bytes=110592,noc_bw=32,offchip_bw=16")
    most = []
    for search in (OptimumSearch(task, energy), with_room_for(10, task, energy)):
        left = []
        while search.nodes < 300_000 and not search.finished:
            points = search.ask(nodes=50_000)
            search.tell(points, task.score(points, energy)[0])
            left.append(len(search.left))
        most.append(max(left))
    # Beside those that wait, each of eight boxes has parts that are left, a few at every depth.
    assert most[1] < 10 + 8 * 60 < most[0]


def test_the_optimum_does_not_depend_on_how_many_boxes_may_wait() -> None:
    task = problem("resnet18_l2")
    assert finish(with_room_for(1, task), task, EDP).best == solved("resnet18_l2").best


def test_the_bound_never_falls_and_the_best_never_rises() -> None:
    task = problem("mobilenetv2_l2")
    search = OptimumSearch(task, EDP)
    gaps = [math.inf]
    optimum = solved("mobilenetv2_l2").best
    while not search.finished:
        bound, best = search.bound, search.best
        points = search.ask(nodes=2_000)
        search.tell(points, task.score(points, EDP)[0])
        assert bound <= search.bound <= optimum <= search.best <= best
        gaps.append(search.gap)
    assert gaps[-1] == 0
    assert gaps == sorted(gaps, reverse=True)


def test_a_search_goes_on_where_another_one_was() -> None:
    task = problem("resnet18_l2")
    first = OptimumSearch(task, EDP)
    asked = 0
    while asked < 4:
        points = first.ask(nodes=1_000)
        first.tell(points, task.score(points, EDP)[0])
        asked += len(points)
    # What was asked for and not told is left too.
    while not first.finished and not len(first.ask(nodes=1_000)):
        pass
    assert not first.finished
    second = OptimumSearch(task, EDP)
    second.resume(first.best_point, first.best, first.left)
    assert second.bound == first.bound
    whole = solved("resnet18_l2")
    assert finish(second, task, EDP).best == whole.best
    assert first.nodes + second.nodes < 2 * whole.nodes
    with pytest.raises(OptimumError, match="box"):
        OptimumSearch(problem("vgg16_l2"), EDP).resume(None, None, first.left + 1000)


def test_what_has_no_bound_is_refused() -> None:
    with pytest.raises(OptimumError, match=r"model maestro .* allowed: exact"):
        OptimumSearch(problem("resnet18_l2", model="maestro"), EDP)
    for factors in (("power_mw",), ("latency_cycles", "l1_bytes")):
        with pytest.raises(OptimumError, match=f"no bounds, as {factors[-1]} has none; allowed: "):
            OptimumSearch(problem("resnet18_l2"), Objective("mine", "", factors, None))
    unordered = Objective("mine", "", ("area_um2", "latency_cycles"), None)
    with pytest.raises(OptimumError, match="allowed: first all latency_cycles"):
        OptimumSearch(problem("resnet18_l2"), unordered)
    transposed = replace(find_layer("resnet18_l2"), operator="TRCONV")
    with pytest.raises(OptimumError, match="no figures of operator TRCONV"):
        OptimumSearch(Problem(MapSpace(transposed, find_hardware("edge"))), EDP)
    with pytest.raises(OptimumError, match="1,000,000,000,000,000 MACs; allowed: fewer than 562,"):
        OptimumSearch(problem("gemm:M=100000,N=100000,K=100000"), EDP)


def test_spaces_too_large_to_search_are_refused() -> None:
    wide = problem("gemm:M=2000000,N=2,K=2")
    with pytest.raises(OptimumError, match=r"l2_tile_M .* 2,000,000 choices; allowed: 1,048,576"):
        OptimumSearch(wide, EDP)
    solve(Problem(MapSpace(wide.layer, wide.hardware, tiles="divisors")), EDP)
    layer = find_layer("ngconv:N=2,G=2,K=2,C=2,Y=4,X=4,R=2,S=2")
    with pytest.raises(OptimumError, match=r"cuts 8 loops of .*; allowed: 7"):
        OptimumSearch(Problem(MapSpace(layer, wide.hardware, "full17")), EDP)


def test_the_mapper_ends_with_the_proof_or_the_budget() -> None:
    task = problem("resnet18_l2")
    evaluator = Evaluator(task, EDP, 20_000)
    make_mapper("optimum").search(evaluator, 20_000, np.random.default_rng(0))
    assert evaluator.best.value == solved("resnet18_l2").best
    assert 1000 < evaluator.used < 20_000
    for budget, changed in ((1, ""), (1010, ""), (20_000, ":samples=0:nodes=1000")):
        evaluator = Evaluator(task, EDP, budget)
        make_mapper(f"optimum{changed}").search(evaluator, budget, np.random.default_rng(0))
        assert evaluator.used == budget if not changed else evaluator.used < budget
