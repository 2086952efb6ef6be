"""Sizes and the choices that stand for them: tile sizes and cluster sizes of a map space."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maestro_env.map_space import Parameter

Sizes = range | tuple[int, ...]
"""What the choices of a size stand for, ascending from 1; a range may be too long to list."""

Integers = NDArray[np.int64]


def sizes_of(parameter: Parameter) -> Sizes:
    """Return the sizes of all choices of a parameter that is a size."""
    values = parameter.values
    return values if isinstance(values, range) else tuple(int(value) for value in values)


def sizes_at(sizes: Sizes, choices: NDArray[np.integer]) -> Integers:
    """Return the sizes that some choices stand for, int64 of the same shape."""
    if isinstance(sizes, range):
        return choices.astype(np.int64) + 1
    listed: Integers = np.array(sizes, dtype=np.int64)
    chosen: Integers = listed[choices]
    return chosen


def count_up_to(sizes: Sizes, limits: NDArray[np.number]) -> Integers:
    """Return how many of the sizes are at most each limit, int64 of the same shape."""
    if isinstance(sizes, range):
        return np.minimum(limits.astype(np.int64), len(sizes))
    return np.searchsorted(np.array(sizes), limits, side="right").astype(np.int64)
