"""What choices stand for, many at a time: sizes and loop orders."""

from __future__ import annotations

import math
from functools import cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from maestro_env.mappers.parts.arrays import Integers
from maestro_env.mapspace.parameter import Parameter


def sizes_at(parameter: Parameter, choices: NDArray[np.integer]) -> Integers:
    """Return the sizes that choices of a tile or cluster size stand for, int64 of their shape."""
    # A range starts at 1 and may be too long to list.
    if isinstance(parameter.values, range):
        return choices.astype(np.int64) + 1
    return np.take(np.array(parameter.values, dtype=np.int64), choices)


def orders_of(ranks: NDArray[np.integer], n: int) -> Integers:
    """Return the permutations of 0..n-1 that have these lexicographic ranks, [N] to [N, n]."""
    return np.take(_all_orders(n), ranks, axis=0)


def ranks_of(orders: Integers) -> Integers:
    """Return the lexicographic ranks of permutations, [N, n] to [N]."""
    n = orders.shape[1]
    ranks = np.zeros(len(orders), dtype=np.int64)
    for place in range(n):
        smaller = orders[:, place + 1 :] < orders[:, place, np.newaxis]
        ranks += smaller.sum(axis=1) * math.factorial(n - 1 - place)
    return ranks


@cache
def _all_orders(n: int) -> Integers:
    return np.array(list(permutations(range(n))), dtype=np.int64)
