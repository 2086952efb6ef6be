"""Training problems by number: every other one of a layer of the zoo, as long as there are more.

Problem i depends on the seed and on i alone.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product
from random import Random

from experiments.commands.pretrain import drawn
from maestro_env.accelerators.hardware import PRESETS, Hardware
from maestro_env.base.registry import look_up
from maestro_env.environments.task import Task
from maestro_env.evaluation.masks import Masks
from maestro_env.evaluation.objectives import OBJECTIVES
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.space import MapSpace
from maestro_env.optimum.known import layer_text
from maestro_env.workloads.finding import all_layers, models
from maestro_env.workloads.layer import Layer

HELD_MACHINE = Hardware(512, 2**10, 2**18, noc_bw=128, offchip_bw=32, name="held")
"""The machine that is never trained on."""

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
    machines = [*PRESETS.values(), *(random_machine(rng) for _ in range(_ZOO_MACHINES))]
    problems = (
        Problem(MapSpace(layer, machine))
        for layer, machine in product(distinct_layers().values(), machines)
    )
    objectives = [OBJECTIVES[name] for name in _ZOO_OBJECTIVES]
    tasks = [Task(each, goal) for each in problems if has_mapping(each) for goal in objectives]
    rng.shuffle(tasks)
    return tuple(tasks)


def random_problem(rng: Random) -> Task:
    """Draw a layer, an objective and a machine on which some mapping of the layer fits."""
    layer, schema, objective = drawn.layer(rng), drawn.schema(rng), drawn.objective(rng)
    while True:
        problem = Problem(MapSpace(layer, random_machine(rng), schema))
        if has_mapping(problem):
            return Task(problem, objective)


def random_machine(rng: Random) -> Hardware:
    """Draw a machine that is not the held one."""
    while True:
        machine = drawn.machine(rng)
        if replace(machine, name=HELD_MACHINE.name) != HELD_MACHINE:
            return machine


def has_mapping(problem: Problem) -> bool:
    """Say whether some mapping fits the buffers."""
    return bool(Masks(problem).allowed(()).any())


def distinct_layers() -> dict[str, Layer]:
    """Return the zoo's layers by shape (``layer_text``), each once and without a name."""
    return {
        layer_text(each): Layer(each.operator, each.extents, each.stride) for each in all_layers()
    }


def shapes_of(*networks: str) -> frozenset[str]:
    """Return the shapes of the layers of networks, some of which other networks have too.

    Raises:
        UnknownNameError: no such network in the zoo.
    """
    layers = (look_up("network", each, models()) for each in networks)
    return frozenset(layer_text(layer) for each in layers for layer in each)
