"""Operators of evolutionary search: pure functions of points and a random stream."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maestro_env.map_space import MapSpace, Points

# The largest small step is this share of a size's choices.
_STEP_SHARE = 16


def tournament(
    points: Points,
    values: NDArray[np.float64],
    n: int,
    entrants: int,
    rng: np.random.Generator,
) -> Points:
    """Choose ``n`` parents, each the best of ``entrants`` points drawn with replacement."""
    drawn = rng.integers(0, len(points), size=(n, entrants))
    winners = drawn[np.arange(n), np.argmin(values[drawn], axis=1)]
    chosen: Points = points[winners]
    return chosen


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
    space: MapSpace,
    rate: float,
    step_rate: float,
    rng: np.random.Generator,
) -> Points:
    """Change every parameter with chance ``rate``, and at least one of each point.

    Args:
        points: int32[N, D].
        fresh: int32[N, D], independent draws: the new values of changed parameters.
        space: of the points.
        rate: chance of a change.
        step_rate: chance that a changed size takes a small step instead of a fresh value.
        rng: the random stream.
    """
    changes = rng.random(points.shape) < rate
    forced = rng.integers(0, points.shape[1], size=len(points))
    changes[np.arange(len(points)), forced] = True
    steps = is_size(space) & (rng.random(points.shape) < step_rate)
    mutants: Points = np.where(changes, np.where(steps, step(points, space, rng), fresh), points)
    return mutants


def step(points: Points, space: MapSpace, rng: np.random.Generator) -> Points:
    """Move every parameter to a neighbouring choice, up or down by at most a sixteenth of all."""
    widest = np.maximum(1, space.sizes // _STEP_SHARE)
    by = rng.integers(1, widest + 1, size=points.shape) * rng.choice((-1, 1), size=points.shape)
    moved: Points = (points + by).clip(0, space.sizes - 1).astype(np.int32)
    return moved


def is_size(space: MapSpace) -> NDArray[np.bool_]:
    """Return which parameters are sizes, bool[D]; only sizes have ordered choices."""
    return np.array([parameter.is_size for parameter in space.parameters])
