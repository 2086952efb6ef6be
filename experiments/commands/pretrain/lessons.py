"""Lessons: training problems with what is known of their best mappings, and how they are drawn."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from random import Random

import numpy as np
from numpy.typing import NDArray

from experiments.commands.pretrain import drawn
from experiments.commands.pretrain.labels import Label
from experiments.commands.pretrain.problems import distinct_layers, random_machine
from maestro_env.accelerators.hardware import PRESETS
from maestro_env.base.errors import MapSpaceError
from maestro_env.environments.task import Task
from maestro_env.evaluation.context import context
from maestro_env.evaluation.problem import Problem
from maestro_env.evaluation.proposer import Proposer
from maestro_env.mapspace.space import MapSpace, Points
from maestro_env.optimum.known import layer_text
from maestro_env.workloads.layer import Layer

# Which share of lessons are of the zoo's layers, and which on each preset.
_ZOO = 0.35
_PRESETS = {"edge": 0.30, "unlimited": 0.08, "cloud": 0.04}
# What the options of decisions lead to may be so much worse than the best mapping.
_NEAR = 1.1


class Lesson:
    """A problem to learn from.

    Args:
        task: problem and objective.
        best: the least value known.

    Raises:
        MapSpaceError: no mapping fits.
    """

    def __init__(self, task: Task, best: float = math.inf) -> None:
        self.task, self.best = task, best
        self.proposer = Proposer(task.problem, task.objective)

    @classmethod
    def of(cls, label: Label) -> Lesson:
        """Make the lesson of a label, with its mappings as decisions make them."""
        lesson = cls(label.task, label.value)
        points = lesson.proposer.nearest(label.points)
        near = points[lesson.values(points) <= _NEAR * label.value]
        _, first = np.unique(label.task.space.identities(near), return_index=True)
        lesson.good = near[np.sort(first)]
        return lesson

    @cached_property
    def good(self) -> Points:
        """Mappings to imitate, int32[k, D]."""
        return np.empty((0, len(self.task.space.parameters)), dtype=np.int32)

    @cached_property
    def context(self) -> NDArray[np.float32]:
        """What the policy sees of the problem, float32[C]."""
        problem = self.task.problem
        return context(problem.layer, problem.hardware, self.task.objective)

    def values(self, points: Points) -> NDArray[np.float64]:
        """Evaluate int32[N, D] vectors: float64[N], infinite if invalid."""
        return self.task.problem.score(points, self.task.objective)[0]


def lessons_of(labels: Iterable[Label]) -> list[Lesson]:
    """Return the lessons of labels whose mappings decisions can make."""
    lessons = map(Lesson.of, labels)
    return [each for each in lessons if len(each.good)]


def training_layers(held: frozenset[str]) -> list[Layer]:
    """Return the zoo's layers whose shape is not held."""
    return [layer for shape, layer in distinct_layers().items() if shape not in held]


def draw_lessons(rng: Random, zoo: Sequence[Layer], held: frozenset[str]) -> Iterator[Lesson]:
    """Draw lessons without end: a layer, a machine and an objective each.

    Args:
        rng: decides all of them.
        zoo: layers of networks to draw from, beside random ones.
        held: shapes that are not drawn.
    """
    while True:
        layer = rng.choice(zoo) if rng.random() < _ZOO else drawn.layer(rng)
        preset = _preset(rng)
        machine = PRESETS[preset] if preset else random_machine(rng)
        task = Task(Problem(MapSpace(layer, machine, drawn.schema(rng))), drawn.objective(rng))
        if layer_text(layer) in held:
            continue
        try:
            yield Lesson(task)
        except MapSpaceError:
            continue


def _preset(rng: Random) -> str | None:
    """Draw the name of a preset, or None."""
    uniform = rng.random()
    for name, share in _PRESETS.items():
        uniform -= share
        if uniform < 0:
            return name
    return None
