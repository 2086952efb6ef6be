"""Searches that move, against what every one of their samples must be."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from maestro_env.environments.moves import moves_of
from maestro_env.evaluation.cost_and_status import OK
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.objectives import find_objective
from maestro_env.mappers import make_mapper
from maestro_env.mapspace.space import Points
from maestro_env.models import make_problems
from maestro_env.optimum.known import known_optimum
from maestro_env.workloads.finding import find_layer

(PROBLEM,) = make_problems([find_layer("resnet18_l2")], "edge")
EDP = find_objective("edp")


def searched(text: str, budget: int, seed: int) -> tuple[Points, np.ndarray]:
    """All samples of a search, int32[N, D], and their values, float64[N]."""
    points = []

    class Kept(Evaluator):
        def evaluate(self, points_: Points) -> object:  # type: ignore[override]
            points.append(points_.copy())
            return super().evaluate(points_)

    evaluator = Kept(PROBLEM, EDP, budget)
    make_mapper(text).search(evaluator, budget, np.random.default_rng(seed))
    values, status = evaluator.trace
    return np.concatenate(points), np.where(status == OK, values, np.inf)


def neighbours(point: Points) -> set[bytes]:
    """All mappings that a move makes of one."""
    return {after.tobytes() for after in moves_of(PROBLEM.space).neighbours(point)}


def test_random_moves_keep_each() -> None:
    points, _ = searched("random_moves", 150, 1)
    for before, after in pairwise(points):
        assert after.tobytes() in neighbours(before)


def test_hill_climbing_stays_with_the_best() -> None:
    points, values = searched("hill_climbing", 150, 1)
    best = 0
    for place in range(1, len(points)):
        assert points[place].tobytes() in neighbours(points[best])
        best = place if values[place] <= values[best] else best


def test_cold_annealing_climbs_hills() -> None:
    cold, _ = searched("annealing:temperature=0", 100, 3)
    assert np.array_equal(cold, searched("hill_climbing", 100, 3)[0])


def test_masks_keep_samples_valid_and_annealing_comes_near_the_optimum() -> None:
    best = []
    for seed in range(3):
        _, values = searched("annealing", 1000, seed)
        assert np.isfinite(values).all()
        best.append(values.min())
    optimum = known_optimum(PROBLEM, EDP)
    assert optimum is not None
    assert 1 <= np.median(best) / optimum.value < 1.4
