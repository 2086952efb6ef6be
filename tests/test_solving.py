"""The best mapping in one call: proposals of the prior, then the proof."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from optimum_helpers import EDP, every_vector, problem, small_problems

from maestro_env import Limits, Solution, known_optimum, solve
from maestro_env.accelerators.hardware import Hardware
from maestro_env.evaluation.objectives import OBJECTIVES, find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.space import Points
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.optimum.search import OptimumError, OptimumSearch
from maestro_env.optimum.solving import opening, solving
from maestro_env.prior.proposals import PROPOSALS
from maestro_env.workloads.finding import find_layer

TASK = problem("mobilenetv2_l2")


def steps(limits: Limits, threads: int = 1) -> list[Solution]:
    search = OptimumSearch(TASK, EDP)
    return list(solving(search, opening(TASK, EDP), limits, threads))


@given(small_problems(most=20_000))
def test_it_is_the_least_of_a_small_space(task: Problem) -> None:
    for objective in OBJECTIVES.values():
        found = solve(task, objective)
        assert found.proven
        assert found.value == task.score(every_vector(task.space), objective)[0].min()


@pytest.mark.parametrize("layer", ["mobilenetv2_l2", "resnet18_l2", "bert_base_l4"])
@pytest.mark.parametrize("objective", ["latency", "edp"])
def test_it_is_the_known_optimum(layer: str, objective: str) -> None:
    task, goal = problem(layer), find_objective(objective)
    found, known = solve(task, goal), known_optimum(task, goal)
    assert known is not None
    assert found.value == found.bound == known.value
    assert found.point is not None
    assert task.score(found.point[np.newaxis], goal)[0] == found.value


def test_the_proposals_come_first_and_are_near() -> None:
    first, *_, last = steps(Limits())
    assert first.samples == PROPOSALS
    assert first.nodes == 0
    assert last.value <= first.value < 1.5 * last.value
    assert last.proven
    assert last.gap == 0 < first.gap
    assert PROPOSALS < last.samples < 2 * PROPOSALS


def test_it_ends_at_each_limit() -> None:
    whole = steps(Limits())[-1]
    assert 0 < steps(Limits(gap=1.0))[-1].gap <= 1.0
    assert steps(Limits(nodes=1000))[-1].nodes < whole.nodes
    assert steps(Limits(samples=70))[-1].samples == 70
    assert [each.nodes for each in steps(Limits(seconds=0))] == [0]


def test_threads_change_nothing() -> None:
    one, two = steps(Limits())[-1], steps(Limits(), threads=2)[-1]
    assert (one.value, one.nodes, one.samples) == (two.value, two.nodes, two.samples)


def test_what_goes_on_ends_with_the_same() -> None:
    begun = OptimumSearch(TASK, EDP)
    *_, before = solving(begun, opening(TASK, EDP), Limits(nodes=20_000))
    assert before.point is not None
    search = OptimumSearch(TASK, EDP)
    search.resume(before.point, before.value, begun.left)
    *_, last = solving(search, (), Limits(), before=before)
    assert last.proven
    assert last.value == solve(TASK, EDP).value
    assert last.nodes > before.nodes
    assert last.samples >= before.samples
    assert last.seconds > before.seconds


def test_a_caller_may_evaluate_what_is_looked_at() -> None:
    seen: list[Points] = []

    def evaluate(points: Points) -> np.ndarray:
        seen.append(points)
        return TASK.score(points, EDP)[0]

    search = OptimumSearch(TASK, EDP)
    *_, last = solving(search, opening(TASK, EDP), Limits(), evaluate=evaluate)
    assert sum(map(len, seen)) == last.samples


def test_a_space_without_a_mapping_has_none() -> None:
    machine = Hardware(4, l1_bytes=7, l2_bytes=5, noc_bw=1, offchip_bw=1)
    found = solve(Problem(MapSpace(find_layer("gemm:M=2,N=3,K=2"), machine)), EDP)
    assert (found.value, found.bound, found.point) == (math.inf, math.inf, None)
    assert found.proven


def test_what_has_no_bounds_is_refused() -> None:
    with pytest.raises(OptimumError, match="model maestro has no bounds"):
        solve(problem("resnet18_l2", model="maestro"), EDP)


@pytest.mark.parametrize("limit", ["gap", "nodes", "samples", "seconds"])
def test_limits_below_nothing_are_refused(limit: str) -> None:
    with pytest.raises(OptimumError, match=f"a limit of -1 {limit}; allowed: 0 or more"):
        Limits(**{limit: -1})
    with pytest.raises(OptimumError, match="nan gap"):
        Limits(gap=math.nan)
