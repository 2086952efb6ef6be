"""What every mapper is: ``search``, and for black-box methods ``ask`` and ``tell``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maestro_env.evaluator import Best, Evaluator
from maestro_env.map_space import MapSpace, Points


@dataclass(frozen=True)
class SearchResult:
    """What a search found: the best point, if any was valid, and the samples it cost."""

    best: Best | None
    evaluations: int


class Mapper(ABC):
    """Searches a map space for the point of least objective."""

    @abstractmethod
    def search(self, evaluator: Evaluator, budget: int, rng: np.random.Generator) -> SearchResult:
        """Spend exactly ``budget`` evaluations.

        Args:
            evaluator: the only way to a cost; it counts.
            budget: evaluations to spend, at most what the evaluator has left.
            rng: the only source of randomness.
        """


class AskTellMapper(Mapper):
    """A mapper that proposes points and is told their values."""

    @abstractmethod
    def start(self, space: MapSpace, rng: np.random.Generator) -> None:
        """Forget everything and begin on ``space``."""

    @abstractmethod
    def ask(self, n: int) -> Points:
        """Propose between 1 and ``n`` points, int32[m, D]."""

    @abstractmethod
    def tell(self, points: Points, values: NDArray[np.float64]) -> None:
        """Learn the values, float64[m], of points asked for; infinite if invalid."""

    def search(self, evaluator: Evaluator, budget: int, rng: np.random.Generator) -> SearchResult:
        self.start(evaluator.space, rng)
        spent = 0
        while spent < budget:
            points = self.ask(budget - spent)
            self.tell(points, evaluator.evaluate(points).values)
            spent += len(points)
        return SearchResult(evaluator.best, spent)
