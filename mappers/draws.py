"""Initial distributions of points."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from maestro_env.map_space import MapSpace, Points
from mappers.sizes import Sizes, count_up_to, sizes_of

Draw = Callable[[MapSpace, int, np.random.Generator], Points]
"""Draws n independent points of a space, int32[n, D]."""


def uniform(space: MapSpace, n: int, rng: np.random.Generator) -> Points:
    """Draw every parameter uniformly."""
    return space.sample(n, rng)


def log_uniform(space: MapSpace, n: int, rng: np.random.Generator) -> Points:
    """Draw tile and cluster sizes log-uniformly, other parameters uniformly.

    A size is the largest choice that is at most a real number drawn log-uniformly from
    [1, largest + 1): among integers 1..m, size v has the probability log(1 + 1 / v) / log(1 + m).
    """
    points = space.sample(n, rng)
    for column, parameter in enumerate(space.parameters):
        if parameter.is_size:
            points[:, column] = _log_uniform_choices(sizes_of(parameter), rng.random(n))
    return points


def _log_uniform_choices(sizes: Sizes, u: NDArray[np.float64]) -> NDArray[np.int64]:
    reals = np.exp(u * np.log1p(sizes[-1]))
    # Rounding in exp may exceed either end.
    clipped: NDArray[np.int64] = (count_up_to(sizes, reals) - 1).clip(0, len(sizes) - 1)
    return clipped


DRAWS: Mapping[str, Draw] = MappingProxyType({"uniform": uniform, "log": log_uniform})
"""Distributions by name."""
