"""Types of arrays that mappers share, initial draws, and what choices stand for."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maestro_env.base.errors import Refuse
from maestro_env.base.reading import open_regular
from maestro_env.mapspace.space import Parameter, Points, Space, choices_at

Booleans = NDArray[np.bool_]
Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
Integers = NDArray[np.int64]

_MOST_BYTES = 2**28
"""Of all arrays of a file: a small one may say that it holds any number of zeros."""


@contextmanager
def opened_checkpoint(path: Path | str, refuse: Refuse) -> Iterator[Any]:
    """Open a file of ``numpy.savez``; ``refuse`` makes the error of whatever is wrong in the block.

    Raises:
        MaestroEnvError: of that kind.
    """
    try:
        with open_regular(path) as opened:
            with zipfile.ZipFile(opened) as archive:
                size = sum(each.file_size for each in archive.infolist())
            if size > _MOST_BYTES:
                raise ValueError(f"it has {size:,} bytes of arrays; allowed: {_MOST_BYTES:,}")
            opened.seek(0)
            with np.load(opened, allow_pickle=False) as file:
                yield file
    except Exception as error:  # noqa: BLE001 (a damaged file makes its readers raise anything)
        raise refuse(f"cannot read the checkpoint {path}: {error}") from None


Draw = Callable[[Space, int, np.random.Generator], Points]
"""Draws n independent points of a space, int32[n, D]."""


def log_uniform(space: Space, n: int, rng: np.random.Generator) -> Points:
    """Draw tile and cluster sizes log-uniformly, other parameters uniformly."""
    points = space.sample(n, rng)
    for column, parameter in enumerate(space.parameters):
        if parameter.is_size:
            points[:, column] = choices_at(parameter, rng.random(n))
    return points


DRAWS: Mapping[str, Draw] = {"uniform": Space.sample, "log": log_uniform}
"""Distributions by name."""


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
