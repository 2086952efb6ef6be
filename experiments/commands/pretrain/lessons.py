"""Lessons: problems with the best that is known of them, and what a policy learns from them.

Mappings within a few per cent of the best one are collected while a search goes on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maestro_env.accelerators.hardware import PRESETS
from maestro_env.base.errors import MapSpaceError
from maestro_env.environments.task import Task
from maestro_env.evaluation.evaluator import Batch, Evaluator
from maestro_env.evaluation.problem import Problem, require
from maestro_env.experiments.problems import drawn
from maestro_env.experiments.problems.labels import Label
from maestro_env.mappers.parts.arrays import (
    Booleans,
    Floats,
    Integers,
    orders_of,
    ranks_of,
    sizes_at,
)
from maestro_env.mapspace.space import Parameter, Points
from maestro_env.mapspace.two_level_space import LEVELS, MapSpace
from maestro_env.prior.proposals import Networks, Proposer
from maestro_env.workloads.layer import Layer

NEAR = 0.03
"""Share of the least value that a near-optimum may be above it."""

# Samples kept, and as many that wait to be sorted out.
_KEPT, _WAITING = 512, 8192


class NearEvaluator(Evaluator):
    """An evaluator that keeps its best samples, none further than ``NEAR`` above the best.

    Mappings that differ only in the place of loops that do not move count once.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._points: Points = np.empty((0, len(self.space.parameters)), dtype=np.int32)
        self._near: Floats = np.empty(0)
        # Values from here on are not kept.
        self._worst = np.inf

    @property
    def space(self) -> MapSpace:
        """The map space of the problem."""
        return require(self.problem, "levels", "an evaluator of neighbours").space

    def record(self, points: Points, batch: Batch) -> None:
        super().record(points, batch)
        if self.best is None:
            return
        near = (batch.values <= (1 + NEAR) * self.best.value) & (batch.values < self._worst)
        self._points = np.concatenate([self._points, points[near]])
        self._near = np.concatenate([self._near, batch.values[near]])
        if len(self._near) > _KEPT + _WAITING:
            self._points, self._near = self.near(_KEPT)
            self._worst = self._near[-1] if len(self._near) == _KEPT else np.inf

    def near(self, most: int) -> tuple[Points, Floats]:
        """Return at most so many samples, the best first: int32[k, D] and float64[k]."""
        if self.best is None:
            return self._points, self._near
        identities = essentials(self.space, self._points)
        # Of equal values, numbers of mappings make an order as good as random.
        ranked = np.lexsort((identities, self._near))
        ranked = ranked[self._near[ranked] <= (1 + NEAR) * self.best.value]
        _, first = np.unique(identities[ranked], return_index=True)
        kept = ranked[np.sort(first)[:most]]
        return self._points[kept], self._near[kept]

    def look_around(self, most: int) -> None:
        """Evaluate all neighbours of so many of the best samples."""
        points, _ = self.near(most)
        if len(points):
            self.evaluate(np.concatenate([neighbours(self.space, point) for point in points]))

    def descend(self) -> None:
        """Go to the best neighbour of the best sample until there is no better one."""
        before = None
        while self.best is not before:
            before = self.best
            self.look_around(1)


def essentials(space: MapSpace, points: Points) -> NDArray[Any]:
    """Return a number for each of int32[N, D] vectors, equal where only loops that rest differ.

    A loop rests if it makes one step: its tile is its whole extent or, if it is parallel, its units
    compute all of it at once.
    """
    columns = [space.clipped(points).astype(np.int64)]
    for level, moving in zip(LEVELS, _moving(space, points), strict=True):
        column = space.columns[f"{level}_order"]
        columns[0][:, column] = 0
        orders = orders_of(points[:, column], len(space.extents))
        # Moving loops in their order, then all others in the order of their names.
        rests = ~np.take_along_axis(moving, orders, axis=1)
        ranked = np.argsort(np.where(rests, len(moving.T) + orders, np.arange(len(moving.T))))
        columns.append(np.take_along_axis(orders, ranked, axis=1))
    table = np.concatenate(columns, axis=1).astype(np.uint64)
    weights = np.random.default_rng(0).integers(0, 2**63, table.shape[1], dtype=np.uint64) * 2 + 1
    return table @ weights


def _moving(space: MapSpace, points: Points) -> list[Booleans]:
    """Return which loops make more than one step, bool[N, dimensions], for L2 and L1."""

    def sizes(size: Parameter | int) -> Integers:
        if isinstance(size, int):
            return np.full(len(points), size, dtype=np.int64)
        return sizes_at(size, points[:, space.columns[size.name]])

    names, rows = list(space.extents), np.arange(len(points))
    places = np.array([names.index(dim) for dim in space.parallel_dims])
    cluster = sizes(space.cluster)
    whole = np.broadcast_to(list(space.extents.values()), (len(points), len(names)))
    moving = []
    for level, units in zip(LEVELS, (space.hardware.num_pes // cluster, cluster), strict=True):
        tile = np.stack([sizes(space.tile(level, dim)) for dim in names], axis=1)
        tile = np.minimum(tile, whole)
        step = tile.copy()
        step[rows, places[points[:, space.columns[f"{level}_parallel"]]]] *= units
        moving.append(whole > step)
        whole = tile
    return moving


def neighbours(space: MapSpace, point: Points) -> Points:
    """Return vectors that differ from one, int32[D], in one parameter: int32[N, D].

    An order has two loops exchanged, a parallel loop is any other, and a size is one of about 60:
    near ones, powers of two, and those that make up to 24 even parts.
    """
    rows = []
    for column, parameter in enumerate(space.parameters):
        if parameter.kind == "order":
            choices = _exchanged(int(point[column]), len(space.extents))
        elif parameter.is_size:
            choices = _other_sizes(int(point[column]), parameter.choices)
        else:
            choices = np.arange(parameter.choices)
        varied = np.repeat(point[np.newaxis], len(choices), axis=0)
        varied[:, column] = choices
        rows.append(varied)
    return np.concatenate(rows)


def _exchanged(rank: int, n: int) -> Integers:
    first, second = np.triu_indices(n, 1)
    orders = np.repeat(orders_of(np.array([rank]), n), len(first), axis=0)
    rows = np.arange(len(first))
    orders[rows, first], orders[rows, second] = orders[rows, second], orders[rows, first]
    return ranks_of(orders)


def _other_sizes(choice: int, count: int) -> Integers:
    near = np.arange(choice - 8, choice + 9)
    powers = 2 ** np.arange(17) - 1
    parts = -(-count // np.arange(1, 25)) - 1
    return np.unique(np.concatenate([near, powers, parts]).clip(0, count - 1))


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
