"""Cooperative tasks that agents are trained on, and how well they are played."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from maestro_env.accelerators.hardware import PRESETS
from maestro_env.evaluation.objectives import find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.mappers.papers.tasks.foraging import Foraging
from maestro_env.mappers.papers.tasks.improving import Improvement
from maestro_env.mappers.papers.tasks.task import Task
from maestro_env.mappers.papers.value_based.episodes import Acting, play
from maestro_env.mapspace.space import MapSpace
from maestro_env.workloads.finding import find_layer

# Streams of trainings are spawned from their seeds: none is one of these.
_EVALUATION, _RANDOM = 1_000_000, 2_000_000
_LAYER, _HARDWARE, _OBJECTIVE = "resnet18_l2", "edge", "edp"


def _mapping(copies: int) -> Task:
    """Return mapping by four agents: both levels' loops, and the sizes of their tiles."""
    problem = Problem(MapSpace(find_layer(_LAYER), PRESETS[_HARDWARE]))
    names = [parameter.name for parameter in problem.space.parameters]
    owners = np.array([2 * (not name.startswith("l2_")) + ("_tile_" in name) for name in names])
    return Improvement(problem, find_objective(_OBJECTIVE), copies, owners)


TASKS: Mapping[str, Callable[[int], Task]] = {
    "foraging": partial(Foraging, name="Foraging-5x5-2p-2f-coop-v3"),
    "foraging-8x8": Foraging,
    "mapping": _mapping,
}
"""What makes so many copies."""


def evaluate(task: str, act: Acting, resets: int) -> float:
    """Return the mean return of so many episodes, which always begin alike."""
    return float(play(TASKS[task](resets), act, np.random.default_rng(_EVALUATION)).mean())


def random_return(task: str, resets: int) -> float:
    """Return the same of choices that are all equally likely."""
    rng, choices = np.random.default_rng(_RANDOM), np.concatenate(TASKS[task](1).heads)
    return evaluate(task, lambda seen: rng.integers(choices, size=(resets, len(choices))), resets)
