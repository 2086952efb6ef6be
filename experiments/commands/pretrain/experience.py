"""What policy gradient learns from: mappings that the policy draws, compared within a problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.commands.pretrain.lessons import Lesson
from experiments.commands.pretrain.near_optima import neighbours
from maestro_env.evaluation.proposer import Networks
from maestro_env.mapspace.space import Points

_DRAWN = 24
# Of these the best and the worst are learnt.
_LEARNT = 12
# Logarithms of values over the least one: none counts as worse than this.
_WORST = 3.0
# Where mappings differ less than this, differences are noise.
_LEAST_SPREAD = 0.02
_NO_SPREAD = 1e-6
# A mapping to imitate is better than all that were drawn by a thousandth at least.
_BETTER = 0.999
_ROUNDS = 3
# In place of the infinite value of an invalid mapping.
_NO_VALUE = 1e300
# No mapping counts more in the gap that is told.
_LARGEST_GAP = 5.0


@dataclass(frozen=True, eq=False)
class Experience:
    """What was drawn for a lesson.

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
    better = found_value < _BETTER * values.min()
    best = min(lesson.best, found_value, values.min())
    worse = np.log(np.minimum(values, _NO_VALUE) / best)
    rewards = -np.minimum(worse, _WORST)
    spread = rewards.std()
    advantages = (rewards - rewards.mean()) / (spread + _LEAST_SPREAD)
    order = np.argsort(advantages)
    half = _LEARNT // 2
    learnt = np.concatenate([order[:half], order[-half:]])
    if spread < _NO_SPREAD:
        learnt = learnt[:0]
    return Experience(
        lesson,
        points[learnt],
        advantages[learnt].astype(np.float32),
        found[: int(better)],
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
        near = neighbours(lesson.task.space, point)
        values = lesson.values(near)
        if values.min() >= value:
            break
        point, value = near[values.argmin()], values.min()
    reached = np.concatenate([lesson.proposer.nearest(point[np.newaxis]), others])
    return reached[[lesson.values(reached).argmin()]]
