"""The descent from a mapping to one that no change of one or two of its numbers improves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import cache
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray

from maestro_env.mapspace.space import Parameter, Points, Space

Asking = Generator[Points, NDArray[np.float64], tuple[Points, float]]
"""Yields int32[N, D] vectors, is sent their values, float64[N], and returns the best of all."""

# Of more sizes than that, a change takes those that make other numbers of chunks, or are near.
_ALL_SIZES = 48
_CHUNKS = 32
# The best changes that another one may follow.
_FOLLOWED = 25


def descent(space: Space, start: Points, value: float, budget: int) -> Asking:
    """Descend from a vector of some value, and ask for at most ``budget`` values.

    First single sizes, units and places in an order change, the best of all changes each time.
    Where none improves, two sizes of a dimension change, or a second change follows a good one.
    """
    changes = _Changes(space)
    point, asked, improved = start, 0, True
    while improved and asked < budget:
        improved, followed = False, list[Points]()
        for changed in changes.in_turn(point, followed):
            points = _distinct(space, point, changed)[: budget - asked]
            if not len(points):
                continue
            values = yield points
            asked += len(points)
            best = int(values.argmin())
            if values[best] < value:
                point, value, improved = points[best], float(values[best]), True
                break
            if not followed:
                followed += [*points[values.argsort(kind="stable")[:_FOLLOWED]]]
    return point, value


def follow(
    asking: Asking, evaluate: Callable[[Points], NDArray[np.float64]]
) -> tuple[Points, float]:
    """Evaluate what a descent asks for until it ends, and return the best vector and its value."""
    try:
        points = next(asking)
        while True:
            points = asking.send(evaluate(points))
    except StopIteration as end:
        best: tuple[Points, float] = end.value
        return best


def _distinct(space: Space, point: Points, changed: Points) -> Points:
    """Return the vectors of other mappings, each once."""
    points = np.concatenate([point[np.newaxis], changed])
    _, first = np.unique(space.identities(points), return_index=True)
    return points[np.sort(first[first > 0])]


class _Changes:
    """What a descent tries: vectors int32[N, D] that differ in one entry or in two."""

    def __init__(self, space: Space) -> None:
        self._parameters = space.parameters
        self._found: dict[tuple[int, int], NDArray[np.int64]] = {}
        # Names of sizes end with their dimension.
        by_dim = defaultdict(list)
        for column, parameter in enumerate(space.parameters):
            if parameter.is_size:
                by_dim[parameter.name.rsplit("_", 1)[-1]].append(column)
        self._pairs = [pair for columns in by_dim.values() for pair in combinations(columns, 2)]

    def in_turn(self, point: Points, followed: list[Points]) -> Iterator[Points]:
        """Yield what to try in turn; ``followed`` are the best of the first, once known."""
        yield self._singles(point)
        yield self._doubles(point)
        for each in followed:
            yield self._singles(each)

    def _singles(self, point: Points) -> Points:
        """Return the vectors that differ in one entry."""
        choices = [self._choices(column, int(at)) for column, at in enumerate(point)]
        if not choices:  # A space of one mapping.
            return point[np.newaxis]
        changed = np.repeat(point[np.newaxis], sum(map(len, choices)), axis=0)
        columns = np.repeat(np.arange(len(choices)), [len(each) for each in choices])
        changed[np.arange(len(changed)), columns] = np.concatenate(choices)
        return changed

    def _doubles(self, point: Points) -> Points:
        """Return the vectors that differ in two sizes of a dimension."""
        found = [np.empty((0, len(point)), dtype=np.int32)]
        for pair in self._pairs:
            near = [_near(self._parameters[column], int(point[column])) for column in pair]
            choices = np.stack(np.meshgrid(*map(list, near), indexing="ij"), axis=-1).reshape(-1, 2)
            changed = np.repeat(point[np.newaxis], len(choices), axis=0)
            changed[:, pair] = choices
            found.append(changed)
        return np.concatenate(found)

    def _choices(self, column: int, choice: int) -> NDArray[np.int64]:
        """Return what an entry may change to."""
        if (column, choice) not in self._found:
            parameter = self._parameters[column]
            moved = _moved if parameter.kind == "order" else _sizes
            self._found[column, choice] = np.array([*moved(parameter, choice)], dtype=np.int64)
        return self._found[column, choice]


def _sizes(parameter: Parameter, choice: int) -> Iterable[int]:
    """Return choices of a size: all, or those near, and equal shares of the largest."""
    if parameter.choices <= _ALL_SIZES or not parameter.is_size:
        return range(parameter.choices)
    sizes = np.array(parameter.values)
    shares = [-(-int(sizes[-1]) // chunks) for chunks in range(1, _CHUNKS + 1)]
    near = range(max(0, choice - 4), min(choice + 5, len(sizes)))
    return {*np.searchsorted(sizes, shares).tolist(), *near, *_near(parameter, choice)}


def _near(parameter: Parameter, choice: int) -> set[int]:
    """Return the next choices, and those of fractions and multiples of a size."""
    sizes = np.array(parameter.values)
    size = int(sizes[choice])
    wanted = [1, *(-(-size // by) for by in (2, 3, 4, 8)), *(size * by for by in (2, 3, 4, 8))]
    found = {*np.searchsorted(sizes, wanted).tolist(), choice - 1, choice + 1, len(sizes) - 1}
    return {each for each in found if 0 <= each < len(sizes)}


def _moved(parameter: Parameter, rank: int) -> set[int]:
    """Return the ranks of the orders in which one loop stands elsewhere."""
    ranks, orders = _orders(parameter.choices)
    order, found = orders[rank], set[int]()
    for loop in order:
        rest = [each for each in order if each != loop]
        found |= {ranks[(*rest[:at], loop, *rest[at:])] for at in range(len(order))}
    return found


@cache
def _orders(choices: int) -> tuple[dict[tuple[int, ...], int], list[tuple[int, ...]]]:
    """Return the orders that have so many ranks, by order and by rank."""
    count, listed = 1, list(permutations(range(1)))
    while len(listed) < choices:
        count += 1
        listed = list(permutations(range(count)))
    return {order: rank for rank, order in enumerate(listed)}, listed
