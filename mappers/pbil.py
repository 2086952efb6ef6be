"""Population-based incremental learning (Baluja, 1994)."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maestro_env.map_space import MapSpace, Points
from mappers.base import AskTellMapper
from mappers.draws import DRAWS
from mappers.settings import setting

# Weight below which a past generation no longer matters.
_NEGLIGIBLE = 1e-12


@dataclass(frozen=True)
class PbilConfig:
    """Parameters of PBIL."""

    population: int = setting(50, "samples between two updates", least=1, most=100_000)
    selected: int = setting(2, "best samples an update moves towards", least=1, most=100_000)
    learning_rate: float = setting(0.2, "weight of an update", least=0.001, most=1)
    exploration: float = setting(0.2, "chance per parameter of a value from the start", most=1)
    draw: str = setting("uniform", "distribution of the start", allowed=DRAWS)


class PbilMapper(AskTellMapper[PbilConfig]):
    """A product distribution over the parameters, moved towards the best samples.

    With learning rate a, every update replaces the distribution p of each parameter by
    (1 - a) p + a q, where q are the frequencies among the selected samples. So p is a mixture: the
    start with weight (1 - a)^t, and the samples selected k updates ago with weight a (1 - a)^k. It
    is drawn from as that, which needs no table over choices, of which there may be billions.
    """

    DEFAULT = PbilConfig()

    def start(self, space: MapSpace, rng: np.random.Generator) -> None:
        self._space = space
        self._rng = rng
        rate = self.config.learning_rate
        remembered = 1 if rate == 1 else math.ceil(math.log(_NEGLIGIBLE) / math.log1p(-rate))
        self._selected: deque[Points] = deque(maxlen=remembered)

    def ask(self, n: int) -> Points:
        n = min(n, self.config.population)
        points = DRAWS[self.config.draw](self._space, n, self._rng)
        if not self._selected:
            return points
        ages = self._rng.geometric(self.config.learning_rate, size=points.shape) - 1
        ages[self._rng.random(points.shape) < self.config.exploration] = len(self._selected)
        rows, columns = np.nonzero(ages < len(self._selected))
        memory = np.stack(self._selected)
        samples = self._rng.integers(0, memory.shape[1], size=len(rows))
        # The newest stand last.
        points[rows, columns] = memory[-1 - ages[rows, columns], samples, columns]
        return points

    def tell(self, points: Points, values: NDArray[np.float64]) -> None:
        best_first = np.argsort(values, kind="stable")[: self.config.selected]
        chosen = points[best_first[np.isfinite(values[best_first])]]
        if len(chosen):
            # Repeated to one number, so that generations stack.
            self._selected.append(np.resize(chosen, (self.config.selected, points.shape[1])))
