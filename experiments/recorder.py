"""An evaluator that keeps the points of its samples."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from maestro_env.evaluator import Batch, Evaluator
from maestro_env.map_space import Points
from maestro_env.objectives import Objective
from maestro_env.problem import Problem


class Recorder(Evaluator):
    """An evaluator, with the vectors of all samples of its budget."""

    def __init__(
        self,
        problem: Problem,
        objective: Objective,
        budget: int,
        on_batch: Callable[[Evaluator], None] | None = None,
    ) -> None:
        super().__init__(problem, objective, budget, on_batch=on_batch)
        self._points = np.empty((budget, len(self.space.parameters)), dtype=np.int32)

    @property
    def points(self) -> Points:
        """Vectors of all samples so far, int32[N, D]."""
        return self._points[: self.used]

    def record(self, points: Points, batch: Batch) -> None:
        self._points[self.used : self.used + len(points)] = points
        super().record(points, batch)
