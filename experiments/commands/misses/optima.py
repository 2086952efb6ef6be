"""The optimum of a problem, and others of the same cost."""

from __future__ import annotations

import numpy as np

from experiments.commands.misses.canonical import canonical
from experiments.commands.misses.neighbours import changes
from experiments.search.goals import Goal
from maestro_env.base.errors import MaestroEnvError
from maestro_env.mapspace.space import Points
from maestro_env.optimum.search import OptimumSearch

_ENOUGH = 1000


class UnprovenError(MaestroEnvError, ValueError):
    """A proof that takes too long."""


def prove(goal: Goal, known: Points, nodes: int) -> tuple[Points, float]:
    """Return an optimum, int32[D], and its cost.

    Args:
        goal: of a problem under ``exact``.
        known: int32[N, D], good mappings to begin with.
        nodes: boxes of mappings to look into at most.

    Raises:
        UnprovenError: that many do not suffice.
        OptimumError: a problem whose optimum cannot be proven.
    """
    problem, objective = goal.problem, goal.objective
    search = OptimumSearch(problem, objective)
    points = known
    while not search.finished:
        search.tell(points, problem.score(points, objective)[0])
        if search.nodes >= nodes:
            raise UnprovenError(
                f"the optimum of {problem.layer}, {objective.name}, is not proven after {nodes:,} "
                "boxes: give more --nodes"
            )
        points = search.ask()
    assert search.best_point is not None
    return search.best_point, search.best


def known_optima(goal: Goal, optimum: Points) -> Points:
    """Return canonical optima that changes of one parameter lead to, one after another.

    Args:
        goal: whose cost is least.
        optimum: int32[D], the first one.

    Returns:
        int32[N, D], the first one too; few more than 1,000 if there are more.
    """
    space = goal.problem.space
    left = list(canonical(space, optimum[np.newaxis]))
    (least,) = goal.problem.score(optimum[np.newaxis], goal.objective)[0]
    found = {left[0].tobytes(): left[0]}
    while left and len(found) < _ENOUGH:
        for _, points in changes(space, left.pop(), 1):
            values = goal.problem.score(points, goal.objective)[0]
            same = {point.tobytes(): point for point in canonical(space, points[values == least])}
            left += [point for key, point in same.items() if key not in found]
            found |= same
    return np.stack(list(found.values()))
