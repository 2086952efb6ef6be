"""Enumerations against brute force: every vector decoded and evaluated, one at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from exhaustive_helpers import Case, batches, brute_force, cases
from hypothesis import assume, given, settings
from map_space_helpers import spaces_and_points, steady

from experiments.exhaustive.enumeration import Enumeration
from experiments.exhaustive.frame_bounds import FrameBound
from experiments.exhaustive.loop_steps import first_pe_macs, moving_loops
from experiments.exhaustive.tally import Tally, count
from experiments.goals import Goal
from maestro_env.evaluator import Evaluator
from maestro_env.hardware import Hardware
from maestro_env.layer import Layer
from maestro_env.map_space import MapSpace
from maestro_env.mapping import Mapping
from maestro_env.objectives import OBJECTIVES
from maestro_env.problem import Problem

few = settings(steady, max_examples=60)


def counted(case: Case, threads: int = 1) -> Tally:
    evaluator = Evaluator(case.problem, case.objective, threads=threads)
    return count(evaluator, batches(case.enumeration()))


def values(case: Case) -> set[float]:
    evaluator = Evaluator(case.problem, case.objective)
    scored = (evaluator.evaluate(batch.points).values for batch in batches(case.enumeration()))
    return {value for each in scored for value in each.tolist() if math.isfinite(value)}


def decoded(case: Case) -> list[Mapping]:
    points = np.concatenate([batch.points for batch in batches(case.enumeration())])
    return [case.problem.space.decode(point) for point in points]


@few
@given(cases())
def test_the_optimum_and_the_counts_are_those_of_brute_force(case: Case) -> None:
    truth, tally = brute_force(case), counted(case)
    assert (tally.mappings, tally.valid) == (truth.mappings, truth.valid)
    assert (tally.best, tally.optimal) == (truth.best, len(truth.optimal))
    assert values(case) == truth.values
    if tally.best_point is None:
        assert not truth.optimal
    else:
        assert case.problem.space.decode(tally.best_point) in truth.optimal


@few
@given(cases())
def test_no_mapping_is_listed_twice_and_what_is_listed_is_counted(case: Case) -> None:
    enumeration, listed = case.enumeration(), decoded(case)
    assert len(set(listed)) == len(listed)
    frames = [enumeration.unit(index) for index in range(enumeration.units)]
    assert sum(map(enumeration.count, frames)) == len(listed)
    assert sum(map(len, frames)) == enumeration.frames
    assert enumeration.vectors == math.prod(map(len, case.choices))
    weights = np.concatenate([batch.weights for batch in batches(enumeration)])
    assert weights.sum() == enumeration.mappings == enumeration.mappings_before(enumeration.units)


@few
@given(cases())
def test_threads_change_nothing(case: Case) -> None:
    assert counted(case, threads=3) == counted(case)


ROOMY, TIGHT = Hardware(3), Hardware(3, l1_bytes=12, l2_bytes=14)


@pytest.mark.parametrize("hardware", [ROOMY, TIGHT])
@pytest.mark.parametrize("model", ["exact", "maestro"])
def test_a_whole_space_with_all_its_orders(model: str, hardware: Hardware) -> None:
    space = MapSpace(Layer("GEMM", {"M": 3, "N": 1, "K": 2}), hardware, tiles="divisors")
    choices = tuple(range(parameter.choices) for parameter in space.parameters)
    case = Case(Problem(space, model), OBJECTIVES["edp"], choices)
    truth, tally = brute_force(case), counted(case)
    assert truth.valid > 0
    assert (truth.valid == truth.mappings) == (hardware is ROOMY and model == "exact")
    assert (tally.mappings, tally.valid) == (truth.mappings, truth.valid)
    assert (tally.best, tally.optimal) == (truth.best, len(truth.optimal))
    # Of three loops no more than two are ever cut, so half of the orders or more are others again.
    assert (tally.evaluated < tally.mappings / 4) == (model == "exact")


def test_orders_of_loops_of_one_step_are_not_listed() -> None:
    space = MapSpace(Layer("GEMM", {"M": 8, "N": 8, "K": 8}), Hardware(1), tiles="divisors")
    fixed = {"l2_tile_M": (2,), "l2_tile_N": (2,), "l2_tile_K": (3,)}
    fixed |= {"l1_tile_M": (0,), "l1_tile_N": (0,), "l1_tile_K": (0,)}
    choices = [fixed.get(each.name, range(each.choices)) for each in space.parameters]
    merged = Enumeration(space, choices, ignores_still_loops=True)
    assert (merged.frames, merged.mappings) == (9, 9 * 36)
    (batch,) = batches(merged)
    # L2 cuts M and N alone, in two orders; L1 cuts all, in six.
    assert len(batch.points) == 9 * 2 * 6
    assert set(batch.weights) == {3}
    (every,) = batches(Enumeration(space, choices, ignores_still_loops=False))
    assert len(every.points) == 9 * 36


# --- Bounds -------------------------------------------------------------------------------------


def dealt(chunks: list[range], units: int) -> list[list[range]]:
    """Groups of chunks, one group a step."""
    return [chunks[start : start + units] for start in range(0, len(chunks), units)]


def cut(extent: range, tile: int) -> list[range]:
    return [extent[start : start + tile] for start in range(0, len(extent), tile)]


@few
@given(spaces_and_points)
def test_steps_and_the_first_pes_share_are_those_of_dealing_out_chunks(
    drawn: tuple[MapSpace, np.ndarray],
) -> None:
    space, point = drawn
    outer, inner = space.decode(point).levels
    clusters = space.hardware.num_pes // inner.cluster_size
    sizes = {loop.dim: loop for loop in inner.loops}
    moving, macs = [0, 0], 1
    for loop in outer.loops:
        bit = 1 << list(space.extents).index(loop.dim)
        chunks, below = cut(range(space.extents[loop.dim]), loop.size), sizes[loop.dim]
        groups = dealt(chunks, clusters if loop.spatial else 1)
        units = inner.cluster_size if below.spatial else 1
        moving[0] |= bit * (len(groups) > 1)
        moving[1] |= bit * (len(dealt(cut(range(loop.size), below.size), units)) > 1)
        mine = [dealt(cut(group[0], below.size), units) for group in groups]
        macs *= sum(len(step[0]) for steps in mine for step in steps)
    points = point[np.newaxis]
    assert [int(mask[0]) for mask in moving_loops(space, points)] == moving
    assert first_pe_macs(space, points)[0] == macs


@few
@given(cases())
def test_pruning_loses_no_optimum(case: Case) -> None:
    objective = OBJECTIVES["latency" if case.objective.name == "area" else "edp"]
    case = Case(case.problem, objective, case.choices)
    problem, truth = case.problem, brute_force(case)
    assume(truth.optimal)
    bound = objective.bound(problem.layer, problem.hardware)
    keeper = FrameBound(Goal(problem, objective, bound))
    enumeration = case.enumeration()
    evaluator = Evaluator(problem, objective)
    total = Tally()
    for index in range(enumeration.units):
        kept = keeper.keep(enumeration.unit(index), truth.best)
        total += count(evaluator, enumeration.batches(kept))
    assert (total.best, total.optimal) == (truth.best, len(truth.optimal))


def test_pruning_rules_most_out() -> None:
    space = MapSpace(Layer("GEMM", {"M": 16, "N": 16, "K": 16}), Hardware(64), tiles="divisors")
    choices = [range(parameter.choices) for parameter in space.parameters]
    enumeration = Enumeration(space, choices, ignores_still_loops=True)
    goal = Goal(Problem(space), OBJECTIVES["latency"], 64.0)
    frames = np.concatenate([enumeration.unit(index) for index in range(enumeration.units)])
    kept = FrameBound(goal).keep(frames, 100.0)
    assert 0 < len(kept) < len(frames) / 10
    # A frame whose bound is the limit may hold the optimum.
    least = first_pe_macs(space, frames)
    assert np.array_equal(kept, frames[least <= 100])
    assert len(FrameBound(goal).keep(frames, least.min())) == np.sum(least == least.min())
    assert np.array_equal(FrameBound(goal).keep(frames, math.inf), frames)


def test_the_size_of_many_frames_is_estimated() -> None:
    layer = Layer("CONV", {"K": 6, "C": 4, "Y": 8, "X": 6, "R": 3, "S": 1})
    space = MapSpace(layer, Hardware(12), tiles="divisors")
    choices = [range(parameter.choices) for parameter in space.parameters]
    enumeration = Enumeration(space, choices, ignores_still_loops=True)
    units = (enumeration.unit(index) for index in range(enumeration.units))
    counted = sum(map(enumeration.count, units))
    assert enumeration.frames > 100_000
    assert abs(enumeration.size() / counted - 1) < 0.03
