"""Random search over the map space."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maestro_env.map_space import MapSpace, Points
from mappers.base import AskTellMapper
from mappers.draws import DRAWS
from mappers.settings import setting

_BATCH = 256


@dataclass(frozen=True)
class RandomConfig:
    """Parameters of random search."""

    draw: str = setting("uniform", "distribution of the samples", allowed=DRAWS)


class RandomMapper(AskTellMapper[RandomConfig]):
    """Draws every parameter uniformly and independently."""

    DEFAULT = RandomConfig()

    def start(self, space: MapSpace, rng: np.random.Generator) -> None:
        self._space = space
        self._rng = rng
        self._draw = DRAWS[self.config.draw]

    def ask(self, n: int) -> Points:
        return self._draw(self._space, min(n, _BATCH), self._rng)

    def tell(self, points: Points, values: NDArray[np.float64]) -> None:
        """Nothing to learn."""


class LogRandomMapper(RandomMapper):
    """Draws sizes log-uniformly: a strong prior, above all with small buffers."""

    DEFAULT = RandomConfig(draw="log")
