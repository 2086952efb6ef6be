"""The fewest parameters whose change improves a mapping."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from experiments.search.goals import Goal
from maestro_env.mapspace.space import MapSpace, Points

_BATCH = 2**17

Columns = tuple[int, ...]


def least_change(goal: Goal, point: Points, optimum: Points) -> Columns:
    """Return the fewest columns of a vector whose change lowers its cost.

    Of as few, the columns of the lowest cost. All changes of one and of two parameters are tried.
    Of more than two, only changes to the values of an optimum: then a change of fewer parameters,
    or of others, may exist.

    Args:
        goal: of the search that ended with the vector.
        point: int32[D], of a higher cost than the optimum.
        optimum: int32[D], of the least cost.
    """
    (value,) = goal.problem.score(point[np.newaxis], goal.objective)[0]
    space = goal.problem.space
    for tried in (changes(space, point, 1), changes(space, point, 2)):
        best, found = value, Columns()
        for columns, points in tried:
            least = goal.problem.score(points, goal.objective)[0].min()
            if least < best:
                best, found = least, columns
        if found:
            return found
    return _least_part(goal, point, optimum)


def changes(space: MapSpace, point: Points, count: int) -> Iterator[tuple[Columns, Points]]:
    """Yield every set of so many columns, and all mappings of other values there, in batches."""
    for columns in combinations(range(len(point)), count):
        most = space.sizes.copy()
        for inner, outer in space.clipped_columns:
            # A larger inner tile is the outer one again.
            if outer not in columns:
                most[inner] = point[outer] + 1
        shape = tuple(most[list(columns)].tolist())
        total = int(np.prod(shape))
        for start in range(0, total, _BATCH):
            numbers = np.arange(start, min(start + _BATCH, total))
            points = np.tile(point, (len(numbers), 1))
            points[:, columns] = np.stack(np.unravel_index(numbers, shape), axis=1)
            yield columns, points


def _least_part(goal: Goal, point: Points, optimum: Points) -> Columns:
    """Return the fewest columns that improve a vector if they take the values of an optimum."""
    differ = np.flatnonzero(point != optimum).tolist()
    (value,) = goal.problem.score(point[np.newaxis], goal.objective)[0]
    for count in range(1, len(differ)):
        parts = list(combinations(differ, count))
        points = np.tile(point, (len(parts), 1))
        for made, part in zip(points, parts, strict=True):
            made[list(part)] = optimum[list(part)]
        values = goal.problem.score(points, goal.objective)[0]
        if values.min() < value:
            return parts[int(values.argmin())]
    return tuple(differ)
