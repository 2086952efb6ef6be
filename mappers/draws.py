"""Initial distributions of points."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from maestro_env.map_space import MapSpace, Points
from mappers.choices import count_up_to

Draw = Callable[[MapSpace, int, np.random.Generator], Points]
"""Draws n independent points of a space, int32[n, D]."""


def log_uniform(space: MapSpace, n: int, rng: np.random.Generator) -> Points:
    """Draw tile and cluster sizes log-uniformly, other parameters uniformly.

    A size is the largest choice that is at most a real number drawn log-uniformly from
    [1, largest + 1): among integers 1..m, size v has the probability log(1 + 1 / v) / log(1 + m).
    """
    points = space.sample(n, rng)
    for column, parameter in enumerate(space.parameters):
        if parameter.is_size:
            reals = np.exp(rng.random(n) * np.log1p(int(parameter.values[-1])))
            # Rounding in exp may exceed either end.
            choices = (count_up_to(parameter, reals) - 1).clip(0, parameter.choices - 1)
            points[:, column] = choices
    return points


DRAWS: Mapping[str, Draw] = {"uniform": MapSpace.sample, "log": log_uniform}
"""Distributions by name."""
