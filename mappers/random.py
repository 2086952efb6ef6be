"""Uniform random search over the map space."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maestro_env.map_space import MapSpace, Points
from mappers.base import AskTellMapper

_BATCH = 256


class RandomMapper(AskTellMapper):
    """Draws every parameter uniformly and independently."""

    def start(self, space: MapSpace, rng: np.random.Generator) -> None:
        self._space = space
        self._rng = rng

    def ask(self, n: int) -> Points:
        return self._space.sample(min(n, _BATCH), self._rng)

    def tell(self, points: Points, values: NDArray[np.float64]) -> None:
        """Nothing to learn."""
