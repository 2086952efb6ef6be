"""Operators of evolutionary search: pure functions of points and a random stream."""

from __future__ import annotations

from collections.abc import Set

import numpy as np

from maestro_env.mappers.parts.arrays import Floats
from maestro_env.mapspace.space import Points, Space

# The largest small step is this share of a size's choices.
_STEP_SHARE = 16


def tournament(
    points: Points, values: Floats, n: int, entrants: int, rng: np.random.Generator
) -> Points:
    """Choose ``n`` parents, each the best of ``entrants`` points drawn with replacement."""
    drawn = rng.integers(0, len(points), size=(n, entrants))
    winners: Points = points[drawn[np.arange(n), np.argmin(values[drawn], axis=1)]]
    return winners


def uniform_crossover(
    mothers: Points, fathers: Points, rate: float, rng: np.random.Generator
) -> Points:
    """Mix each pair parameter by parameter with chance ``rate``; else copy the mother."""
    mixes = rng.random((len(mothers), 1)) < rate
    from_father = mixes & (rng.random(mothers.shape) < 0.5)
    return np.where(from_father, fathers, mothers)


def mutate(
    points: Points,
    fresh: Points,
    space: Space,
    rate: float,
    step_rate: float,
    rng: np.random.Generator,
) -> Points:
    """Change every parameter with chance ``rate``, and at least one of each point.

    The new values are those of ``fresh``, which are independent draws. A changed size takes, with
    chance ``step_rate``, a small step instead.
    """
    changes = rng.random(points.shape) < rate
    forced = rng.integers(0, points.shape[1], size=len(points))
    changes[np.arange(len(points)), forced] = True
    are_sizes = np.array([parameter.is_size for parameter in space.parameters])
    steps = are_sizes & (rng.random(points.shape) < step_rate)
    return np.where(changes, np.where(steps, step(points, space, rng), fresh), points)


def step(points: Points, space: Space, rng: np.random.Generator) -> Points:
    """Move every parameter to a neighbouring choice, up or down by at most a sixteenth of all."""
    widest = np.maximum(1, space.sizes // _STEP_SHARE)
    by = rng.integers(1, widest + 1, size=points.shape) * rng.choice((-1, 1), size=points.shape)
    moved: Points = (points + by).clip(0, space.sizes - 1).astype(np.int32)
    return moved


def unseen(points: Points, known: Set[int], space: Space) -> Points:
    """Drop repeated mappings and those whose identity is known; if none is left, keep all."""
    identities, first = np.unique(space.identities(points), return_index=True)
    new = [identity not in known for identity in identities.tolist()]
    return points[np.sort(first[new])] if any(new) else points
