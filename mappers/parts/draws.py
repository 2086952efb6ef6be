"""Initial distributions of points."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from maestro_env.mapspace.space import Points, Space
from maestro_env.mapspace.unit_cube import choices_at

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
