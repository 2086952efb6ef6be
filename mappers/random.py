"""Random search over the map space."""

from __future__ import annotations

from dataclasses import dataclass

from maestro_env.mappers.base import AskTellMapper, setting
from maestro_env.mappers.parts.arrays import DRAWS, Floats
from maestro_env.mapspace.space import Points

_BATCH = 256


@dataclass(frozen=True)
class RandomConfig:
    """Parameters of random search."""

    draw: str = setting("uniform", "distribution of the samples", allowed=DRAWS)


class RandomMapper(AskTellMapper[RandomConfig]):
    """Draws every parameter uniformly and independently."""

    DEFAULT = RandomConfig()

    def ask(self, n: int) -> Points:
        return DRAWS[self.config.draw](self._space, min(n, _BATCH), self._rng)

    def tell(self, points: Points, values: Floats) -> None:
        """Nothing to learn."""


class LogRandomMapper(RandomMapper):
    """Draws sizes log-uniformly: a strong prior, above all with small buffers."""

    DEFAULT = RandomConfig(draw="log")
