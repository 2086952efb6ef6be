"""Samples whose dependence is known, and samples of a layer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maestro_env import Evaluator, MapSpace, Problem, find_hardware, find_layer, find_objective
from maestro_env.clustering import AgentGroups, Dependence, Samples


def sizes_samples(
    points: NDArray[np.int64], rewards: NDArray[np.float64] | None = None, size: int | None = None
) -> Samples:
    """Samples of tile sizes named a, b, c and so on; rewards rise unless given."""
    n, d = points.shape
    names = tuple("abcdefghijklmnopqrstuvwxyz"[:d])
    choices = int(points.max()) + 1 if size is None else size
    given = np.arange(1.0, n + 1) if rewards is None else rewards
    return Samples(names, ("tile",) * d, (choices,) * d, points, given)


def layer_samples(layer: str, objective: str, n: int = 20_000, schema: str = "legal13") -> Samples:
    """Uniform samples of a layer's map space under the exact model, reward 1/objective."""
    problem = Problem(MapSpace(find_layer(layer), find_hardware("paper"), schema))
    evaluator = Evaluator(problem, find_objective(objective))
    points = problem.space.sample(n, np.random.default_rng(0))
    parameters = problem.space.parameters
    return Samples(
        tuple(parameter.name for parameter in parameters),
        tuple(parameter.kind for parameter in parameters),
        tuple(parameter.choices for parameter in parameters),
        points,
        1 / evaluator.warm_up(points).values,
    )


def partition(groups: AgentGroups) -> set[frozenset[str]]:
    return {frozenset(names) for names in groups.values()}


def dependence_within(groups: AgentGroups, dependence: Dependence) -> float:
    """Sum of |dependence| over pairs of parameters that share an agent."""
    indices = groups.indices(dependence.names)
    pairs = np.triu(indices[:, np.newaxis] == indices, k=1)
    return float(np.abs(dependence.matrix)[pairs].sum())
