"""Lessons: problems with the best that is known of them, and what a policy learns from them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from maestro_env.accelerators.hardware import PRESETS
from maestro_env.base.errors import MapSpaceError
from maestro_env.environments.task import Task
from maestro_env.evaluation.problem import Problem, require
from maestro_env.experiments.commands.pretrain.near_optima import neighbours
from maestro_env.experiments.problems import drawn
from maestro_env.experiments.problems.labels import Label
from maestro_env.mapspace.space import MapSpace, Points
from maestro_env.prior.proposals import Networks, Proposer
from maestro_env.workloads.layer import Layer

# Which share of lessons are of the zoo's layers, and in per cent which are on each preset; the
# others are on random machines.
_ZOO = 0.3
_PRESETS = {"edge": 26, "unlimited": 6, "cloud": 4, "": 64}
# What the options of decisions lead to may be so much worse than the best mapping.
_NEAR = 1.1
# Drawn mappings, of which as many of the worst as of the best are learnt.
_DRAWN, _HALF_LEARNT = 24, 6
# Logarithms of values over the least one: none counts as worse than this, in the gap that is told
# as worse than that.
_WORST, _LARGEST_GAP = 3.0, 5.0
# Where mappings differ less than this, differences are noise.
_LEAST_SPREAD, _NO_SPREAD = 0.02, 1e-6
# A mapping to imitate is better than all that were drawn by a thousandth at least.
_BETTER = 0.999
_ROUNDS = 3
# In place of the infinite value of an invalid mapping.
_NO_VALUE = 1e300


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
        problem = require(task.problem, "levels", "a lesson")
        self.space, self.proposer = problem.space, Proposer(problem, task.objective)

    def values(self, points: Points) -> NDArray[np.float64]:
        """Evaluate int32[N, D] vectors: float64[N], infinite if invalid."""
        return self.task.problem.score(points, self.task.objective)[0]


Taught = tuple[Lesson, Points]
"""A lesson with mappings of it, int32[k, D]."""


def lessons_of(labels: Iterable[Label], held: frozenset[str]) -> list[Taught]:
    """Return the lessons of labels, with their mappings as decisions make them.

    Labels of layers of held shapes are left out, and those whose mappings decisions cannot make.
    """
    found = []
    for label in labels:
        if label.task.problem.layer.shape in held:
            continue
        lesson = Lesson(label.task, label.value)
        points = lesson.proposer.nearest(label.points)
        near = points[lesson.values(points) <= _NEAR * label.value]
        _, first = np.unique(label.task.space.identities(near), return_index=True)
        if len(first):
            found.append((lesson, near[np.sort(first)]))
    return found


def draw_lessons(rng: Random, zoo: Sequence[Layer], held: frozenset[str]) -> Iterator[Lesson]:
    """Draw lessons without end: a layer, a machine and an objective each.

    Args:
        rng: decides all of them.
        zoo: layers of networks to draw from, beside random ones.
        held: shapes that are not drawn.
    """
    while True:
        layer = rng.choice(zoo) if rng.random() < _ZOO else drawn.layer(rng)
        preset = drawn.weighted(rng, _PRESETS)
        machine = PRESETS[preset] if preset else drawn.machine(rng)
        task = Task(Problem(MapSpace(layer, machine, drawn.schema(rng))), drawn.objective(rng))
        if layer.shape in held:
            continue
        try:
            yield Lesson(task)
        except MapSpaceError:
            continue


@dataclass(frozen=True, eq=False)
class Experience:
    """What policy gradient learns from: mappings that the policy drew, compared within a lesson.

    Args:
        lesson: its problem.
        points: int32[n, D].
        advantages: float32[n].
        target: int32[0 or 1, D], a better mapping than all that the policy drew.
        gap: mean of the logarithms of values over the least value known.
    """

    lesson: Lesson
    points: Points
    advantages: NDArray[np.float32]
    target: Points
    gap: float


def experience(
    lesson: Lesson, networks: Networks, explorer: Networks, rng: np.random.Generator
) -> Experience:
    """Draw mappings and compare them.

    Args:
        lesson: whose problem is mapped.
        networks: the policy.
        explorer: the policy, but with any parallel loops.
        rng: of all draws.
    """
    points, _ = lesson.proposer.draw(networks, _DRAWN, rng)
    values = lesson.values(points)
    found = _explore(lesson, explorer, rng, points[values.argmin()])
    found_value = lesson.values(found)[0]
    best = min(lesson.best, found_value, values.min())
    worse = np.log(np.minimum(values, _NO_VALUE) / best)
    rewards = -np.minimum(worse, _WORST)
    spread = rewards.std()
    advantages = (rewards - rewards.mean()) / (spread + _LEAST_SPREAD)
    order = np.argsort(advantages)
    learnt = np.concatenate([order[:_HALF_LEARNT], order[-_HALF_LEARNT:]])
    if spread < _NO_SPREAD:
        learnt = learnt[:0]
    return Experience(
        lesson,
        points[learnt],
        advantages[learnt].astype(np.float32),
        found[: int(found_value < _BETTER * values.min())],
        float(np.minimum(worse, _LARGEST_GAP).mean()),
    )


def _explore(lesson: Lesson, explorer: Networks, rng: np.random.Generator, best: Points) -> Points:
    """Return the best mapping found beside what the policy draws, int32[1, D].

    A policy that prefers some parallel loops draws hardly any others, and would not find out that
    these are better. The best mapping is then improved parameter by parameter.
    """
    drawn, _ = lesson.proposer.draw(explorer, _DRAWN, rng)
    others = np.concatenate([best[np.newaxis], drawn])
    values = lesson.values(others)
    point, value = others[values.argmin()], values.min()
    for _ in range(_ROUNDS):
        near = neighbours(lesson.space, point)
        values = lesson.values(near)
        if values.min() >= value:
            break
        point, value = near[values.argmin()], values.min()
    reached = np.concatenate([lesson.proposer.nearest(point[np.newaxis]), others])
    return reached[[lesson.values(reached).argmin()]]
