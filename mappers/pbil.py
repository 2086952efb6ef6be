"""Population-based incremental learning (Baluja, 1994)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from maestro_env.mappers.base import AskTellMapper, setting
from maestro_env.mappers.parts.arrays import DRAWS, Floats
from maestro_env.mapspace.space import Points, Space

# A past generation with less weight is forgotten.
_NEGLIGIBLE = 1e-12


@dataclass(frozen=True)
class PbilConfig:
    """Parameters of PBIL."""

    population: int = setting(50, "samples between two updates", least=1, most=100_000)
    selected: int = setting(2, "best samples that an update moves towards", least=1, most=1000)
    learning_rate: float = setting(0.2, "weight of an update", least=0.01, most=1)
    exploration: float = setting(0.2, "chance per parameter of an initial draw", most=1)
    draw: str = setting("uniform", "initial distribution", allowed=DRAWS)


class PbilMapper(AskTellMapper[PbilConfig]):
    """A product distribution over the parameters, moved towards the best samples.

    With learning rate a, every update replaces the distribution p of each parameter by
    (1 - a) p + a q, where q are the frequencies among the selected samples. After t updates, p is a
    mixture: the initial distribution with weight (1 - a)^t, and the samples selected k updates ago
    with weight a (1 - a)^k. Drawing from the mixture needs no table of choices, of which there may
    be billions.
    """

    DEFAULT = PbilConfig()

    def start(self, space: Space, rng: np.random.Generator) -> None:
        super().start(space, rng)
        rate = self.config.learning_rate
        remembered = 1 if rate == 1 else math.ceil(math.log(_NEGLIGIBLE) / math.log1p(-rate))
        shape = (remembered, self.config.selected, len(space.sizes))
        # A ring: the samples selected by the last updates, the oldest overwritten by the newest.
        self._selected: Points = np.empty(shape, dtype=np.int32)
        self._updates = 0

    def ask(self, n: int) -> Points:
        n = min(n, self.config.population)
        points = DRAWS[self.config.draw](self._space, n, self._rng)
        if not self._updates:
            return points
        remembered, selected, _ = self._selected.shape
        known = min(self._updates, remembered)
        ages = self._rng.geometric(self.config.learning_rate, size=points.shape) - 1
        ages[self._rng.random(points.shape) < self.config.exploration] = known
        rows, columns = np.nonzero(ages < known)
        updates = (self._updates - 1 - ages[rows, columns]) % remembered
        samples = self._rng.integers(0, selected, size=len(rows))
        points[rows, columns] = self._selected[updates, samples, columns]
        return points

    def tell(self, points: Points, values: Floats) -> None:
        best_first = np.argsort(values, kind="stable")[: self.config.selected]
        chosen = points[best_first[np.isfinite(values[best_first])]]
        if len(chosen):
            remembered, selected, parameters = self._selected.shape
            # If fewer are valid, repeat them: their frequencies hardly change.
            repeated = np.resize(chosen, (selected, parameters))
            self._selected[self._updates % remembered] = repeated
            self._updates += 1
