"""What every registered mapper promises, and the evaluator that holds it to it."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from gate import few
from mapper_helpers import (
    CASES,
    LEARNERS,
    QUICK,
    SPENDERS,
    TRACES,
    Recorder,
    every_mapper,
    every_model,
    problem,
    search,
)

from maestro_env.base.errors import BudgetExceededError, MapSpaceError, UnknownNameError
from maestro_env.evaluation.cost_and_status import OK, STATUSES
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.objectives import find_objective
from maestro_env.mappers import make_mapper, own_mappers
from maestro_env.mapspace.space import Points

# --- Mappers ------------------------------------------------------------------------------------

BUDGET = 120
SEED = 5


# The digests of all others were made in another process (test_start.py).
UNFROZEN = {
    name: text for name, text in zip(SPENDERS, QUICK, strict=True) if text not in TRACES["digests"]
}
# Their imports are slow.
HEAVY = [text for name, text in UNFROZEN.items() if name in (*LEARNERS, "bo")]
LIGHT = [text for text in UNFROZEN.values() if text not in HEAVY]


@pytest.mark.parametrize("mappers", few([LIGHT, HEAVY]), ids=["light", "heavy"])
def test_the_seed_decides_the_trace_in_any_process(mappers: list[str]) -> None:
    """With other hashes of texts, too."""
    script = f"""
import mapper_helpers
for mapper in {mappers}:
    print(mapper_helpers.search(mapper, {BUDGET}, {SEED}).digest())
"""
    ended = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONHASHSEED": "77", "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=os.path.dirname(__file__),
        capture_output=True,
        text=True,
        check=True,
    )
    assert [search(each, BUDGET, SEED).digest() for each in mappers] == ended.stdout.split()


@every_mapper
def test_a_mapper_starts_afresh_with_every_search(mapper: str) -> None:
    made = make_mapper(mapper)
    other, again = (Recorder(problem(), "latency", budget) for budget in (100, BUDGET))
    made.search(other, 100, np.random.default_rng(SEED + 1))
    made.search(again, BUDGET, np.random.default_rng(SEED))
    assert not np.array_equal(other.trace[0], again.trace[0][:100])
    assert again.digest() == search(mapper, BUDGET, SEED).digest()


@every_mapper
@pytest.mark.parametrize("budget", [1, 101])
def test_a_mapper_spends_its_budget_exactly_and_leaves_the_rest(mapper: str, budget: int) -> None:
    recorder = Recorder(problem("maestro"), "latency", BUDGET)
    make_mapper(mapper).search(recorder, budget, np.random.default_rng(0))
    assert recorder.used == budget
    assert recorder.remaining == BUDGET - budget


@every_mapper
def test_a_mapper_stays_inside_the_space(mapper: str) -> None:
    recorder = search(mapper, BUDGET, SEED)
    points = np.concatenate(recorder.points)
    assert len(points) == recorder.used == BUDGET
    assert points.dtype == np.int32
    assert ((points >= 0) & (points < recorder.space.sizes)).all()


@every_mapper
def test_a_mapper_survives_a_space_without_a_valid_point(mapper: str) -> None:
    recorder = search(mapper, 120, l1_bytes=1)
    values, status = recorder.trace
    assert recorder.used == 120
    assert recorder.best is None
    assert recorder.valid == 0
    assert np.isinf(values).all()
    assert STATUSES.index("l1_overflow") in status
    assert OK not in status


@every_mapper
def test_the_best_so_far_never_worsens_and_is_the_least_of_the_trace(mapper: str) -> None:
    recorder = search(mapper, BUDGET, SEED)
    values, _ = recorder.trace
    running = np.minimum.accumulate(values)
    bests = [best for _, best in recorder.bests]
    assert bests == sorted(bests, reverse=True)
    assert bests == [running[used - 1] for used, _ in recorder.bests]
    assert recorder.best.value == values.min()
    assert recorder.best.evaluation == int(np.argmin(values)) + 1
    point = np.concatenate(recorder.points)[recorder.best.evaluation - 1]
    np.testing.assert_array_equal(recorder.best.point, point)
    again = problem().evaluate(point[np.newaxis])
    assert recorder.best.cost.latency_cycles == recorder.best.value == again.metrics[0, 0]


LEARN_SLOWLY = (
    "random",
    "random_log",
    "marl_paper",
    "ppo",
    "ppo_box",
    "ppo_tuned",
)
# Their first samples are near the best there is, and none is repeated.
BEGINS_WELL = ("prior", "prior_adapted")


# Of those that learn with torch the gate has its fastest; test_team_learning.py has the others.
@pytest.mark.parametrize(
    "mapper",
    [
        pytest.param(*each.values, id=each.id, marks=[pytest.mark.slow] * (each.id == "marl_mlp"))
        for each in CASES
        if each.id not in (*LEARN_SLOWLY, *BEGINS_WELL)
    ],
)
def test_a_mapper_learns(mapper: str) -> None:
    values, _ = search(mapper, 600).trace
    assert np.median(values[-100:]) < np.median(values[:100])


@pytest.mark.parametrize("objective", ["latency", "energy", "edp"])
@every_model
def test_the_genetic_algorithm_beats_random_search(model: str, objective: str) -> None:
    def median(mapper: str) -> float:
        found = [search(mapper, 3000, seed, model, objective) for seed in range(5)]
        return float(np.median([each.best.value for each in found]))

    assert median("ga") < median("random")


def test_an_unknown_mapper_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="unknown mapper 'gaa': did you mean ga") as error:
        make_mapper("gaa")
    assert all(name in str(error.value) for name in own_mappers())


# --- The evaluator ------------------------------------------------------------------------------


def points(n: int) -> Points:
    return problem().space.sample(n, np.random.default_rng(9))


def test_the_evaluator_refuses_one_evaluation_too_many_and_evaluates_none() -> None:
    batches: list[int] = []
    evaluator = Evaluator(
        problem(), find_objective("latency"), 10, on_batch=lambda each: batches.append(each.used)
    )
    evaluator.evaluate(points(8))
    before = evaluator.best
    with pytest.raises(BudgetExceededError, match="3 evaluations asked for, 2 of 10 remain"):
        evaluator.evaluate(points(3))
    assert (evaluator.used, evaluator.remaining, batches) == (8, 2, [8])
    assert evaluator.best is before
    assert len(evaluator.trace[0]) == 8
    evaluator.evaluate(points(2))
    with pytest.raises(BudgetExceededError):
        evaluator.evaluate(points(1))
    assert evaluator.remaining == 0


def test_a_refused_batch_costs_nothing() -> None:
    evaluator = Evaluator(problem(), find_objective("latency"), 10)
    with pytest.raises(MapSpaceError):
        evaluator.evaluate(points(4) - 10**6)
    assert evaluator.used == 0
    assert evaluator.best is None


def test_the_evaluator_without_a_budget_never_ends() -> None:
    evaluator = Evaluator(problem(), find_objective("latency"))
    for _ in range(3):
        evaluator.evaluate(points(500))
    assert (evaluator.used, evaluator.remaining) == (1500, np.inf)
    assert len(evaluator.trace[0]) == 0


def test_the_ledger_counts_different_mappings_not_vectors() -> None:
    evaluator = Evaluator(problem(), find_objective("latency"), 700)
    drawn = points(300)
    # An L1 tile above its L2 tile stands for the L2 tile.
    columns = [parameter.name for parameter in evaluator.space.parameters]
    clipped = drawn[:100].copy()
    clipped[:, columns.index("l2_tile_Y")] = 0
    again = clipped.copy()
    again[:, columns.index("l1_tile_Y")] = 5
    for batch in (drawn, drawn[::-1].copy(), clipped):
        evaluator.evaluate(batch)
    mappings = {evaluator.space.decode(point) for point in np.concatenate([drawn, clipped])}
    before = evaluator.unique
    assert before == len(mappings) > 300
    evaluator.evaluate(again[:0])
    assert evaluator.unique == before
    assert (evaluator.space.identities(clipped) == evaluator.space.identities(again)).all()


def test_warming_up_is_counted_apart() -> None:
    evaluator = Evaluator(problem(), find_objective("latency"), 10)
    batch = evaluator.warm_up(points(40))
    whole = Evaluator(problem(), find_objective("latency"), 40).evaluate(points(40))
    np.testing.assert_array_equal(batch.values, whole.values)
    assert (evaluator.used, evaluator.warmed_up, evaluator.remaining) == (0, 40, 10)
    assert (evaluator.best, evaluator.unique, len(evaluator.trace[0])) == (None, 0, 0)


@every_model
def test_values_are_the_objective_of_valid_rows_and_infinite_elsewhere(model: str) -> None:
    batch = points(800)
    tight = problem(model, l1_bytes=2000)
    rows = tight.evaluate(batch)
    results = Evaluator(tight, find_objective("edp"), 800).evaluate(batch)
    valid = rows.status == OK
    assert 0 < valid.sum() < 800
    np.testing.assert_array_equal(results.status, rows.status)
    assert np.isinf(results.values[~valid]).all()
    for value, figures in zip(results.values[valid], rows.metrics[valid], strict=True):
        assert value == figures[0] * figures[1]


def test_the_best_is_found_wherever_it_stands() -> None:
    batch = points(300)
    whole = Evaluator(problem(), find_objective("energy"), 300)
    whole.evaluate(batch)
    split = Evaluator(problem(), find_objective("energy"), 300)
    for start in range(0, 300, 7):
        split.evaluate(batch[start : start + 7])
    assert (split.best.value, split.best.evaluation) == (whole.best.value, whole.best.evaluation)
    np.testing.assert_array_equal(split.trace[0], whole.trace[0])
    assert split.valid == whole.valid == int((whole.trace[1] == OK).sum())
