"""Training problems by number: every other one of a layer of the zoo, as long as there are more.

Problem i depends on the seed and on i alone.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from random import Random

from maestro_env.accelerators.hardware import PRESETS
from maestro_env.base.registry import look_up
from maestro_env.environments.task import Task
from maestro_env.evaluation.masks import Masks
from maestro_env.evaluation.objectives import OBJECTIVES, Objective
from maestro_env.evaluation.problem import Problem
from maestro_env.experiments.problems import drawn
from maestro_env.mapspace.space import MapSpace
from maestro_env.optimum.search import OptimumError, require_bounded
from maestro_env.workloads.finding import all_layers, models
from maestro_env.workloads.layer import Layer

_ZOO_MACHINES = 4
_ZOO_OBJECTIVES = ("latency", "edp")


def training_problem(seed: int, number: int) -> Task:
    """Return a problem by its number, from 0."""
    zoo = zoo_problems(seed)
    turn, is_random = divmod(number, 2)
    if turn < len(zoo) and not is_random:
        return zoo[turn]
    return random_problem(Random(f"{seed} problem {number}"))


@cache
def zoo_problems(seed: int) -> tuple[Task, ...]:
    """Return the problems of the zoo's layers, mixed.

    They are all distinct layers on each preset and on four random machines, where a mapping fits,
    for latency and for EDP.
    """
    rng = Random(f"{seed} zoo")
    machines = [*PRESETS.values(), *(drawn.machine(rng) for _ in range(_ZOO_MACHINES))]
    pairs = product(distinct_layers().values(), machines)
    problems = filter(has_mapping, (Problem(MapSpace(*pair)) for pair in pairs))
    tasks = [Task(each, OBJECTIVES[name]) for each in problems for name in _ZOO_OBJECTIVES]
    rng.shuffle(tasks)
    return tuple(tasks)


def random_problem(rng: Random) -> Task:
    """Draw a layer, an objective and a machine on which some mapping of the layer fits."""
    layer, schema, objective = drawn.layer(rng), drawn.schema(rng), drawn.objective(rng)
    while True:
        problem = Problem(MapSpace(layer, drawn.machine(rng), schema))
        if has_mapping(problem):
            return Task(problem, objective)


def has_mapping(problem: Problem) -> bool:
    """Say whether some mapping fits the buffers."""
    return bool(Masks(problem).allowed(()).any())


def is_bounded(problem: Problem, objective: Objective) -> bool:
    """Say whether an optimum is proven: not of powers, whose proofs no prior was trained with."""
    if len(set(objective.factors)) < len(objective.factors):
        return False
    try:
        require_bounded(problem, objective)
    except OptimumError:
        return False
    return True


def distinct_layers(held: frozenset[str] = frozenset()) -> dict[str, Layer]:
    """Return the zoo's layers by shape, each once; no held ones."""
    return {
        shape: Layer(each.operator, each.extents, each.stride)
        for each in all_layers()
        if (shape := each.shape) not in held
    }


def shapes_of(*networks: str) -> frozenset[str]:
    """Return the shapes of the layers of networks, some of which other networks have too.

    Raises:
        UnknownNameError: no such network in the zoo.
    """
    layers = (look_up("network", each, models()) for each in networks)
    return frozenset(layer.shape for each in layers for layer in each)
