"""Loop orders and their Lehmer ranks, many at a time."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Orders = NDArray[np.int64]
"""Permutations of 0..n-1, one a row, int64[N, n]."""


def orders_of(ranks: NDArray[np.integer], n: int) -> Orders:
    """Return the permutations of 0..n-1 that have these lexicographic ranks, [N] to [N, n]."""
    orders = np.empty((len(ranks), n), dtype=np.int64)
    for place in range(n):
        orders[:, place] = ranks // math.factorial(n - 1 - place) % (n - place)
    # Now an entry counts the smaller items behind it. Renumber from the back: items that are not
    # smaller move up by one.
    for place in reversed(range(n)):
        behind = orders[:, place + 1 :]
        behind += behind >= orders[:, place, np.newaxis]
    return orders


def ranks_of(orders: Orders) -> NDArray[np.int64]:
    """Return the lexicographic ranks of permutations, [N, n] to [N]."""
    n = orders.shape[1]
    ranks = np.zeros(len(orders), dtype=np.int64)
    for place in range(n):
        smaller = orders[:, place + 1 :] < orders[:, place, np.newaxis]
        ranks += smaller.sum(axis=1) * math.factorial(n - 1 - place)
    return ranks
