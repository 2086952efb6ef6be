"""Evaluates points for a search and counts its samples."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sized
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maestro_env.base.checks import require_integer, require_type
from maestro_env.base.errors import BudgetError, BudgetExceededError
from maestro_env.base.parallelism import require_threads
from maestro_env.evaluation.any_problem import AnyProblem
from maestro_env.evaluation.cost_and_status import Cost, Rows
from maestro_env.evaluation.objectives import Objective
from maestro_env.evaluation.observations_and_rewards import Observations, observation
from maestro_env.mapspace.space import Points, Space


@dataclass(frozen=True)
class Batch:
    """Evaluated points.

    Args:
        values: float64[N], the objective; infinite where the status is not ``ok``.
        status: uint8[N], indices into ``STATUSES``.
    """

    values: NDArray[np.float64]
    status: NDArray[np.uint8]


@dataclass(frozen=True)
class Best:
    """The best point so far.

    Args:
        value: of the objective, in its unit.
        point: the vector, int32[D].
        cost: its figures.
        evaluation: which sample it was, counted from 1.
    """

    value: float
    point: Points
    cost: Cost
    evaluation: int


class Evaluator:
    """Evaluates points for one search: counts every sample, keeps the trace and the best.

    The ledger: ``used`` samples of the budget, ``valid`` ones among them, ``unique`` mappings among
    them, ``warmed_up`` samples outside the budget, and ``model_seconds`` in batches of both. A
    mapper that proves what it finds sets ``bound``: no mapping has a lower value.

    Args:
        problem: what the points are points of.
        objective: what is minimised.
        budget: evaluations allowed; None for no limit and no trace.
        threads: of the batch evaluation; results do not depend on it.
        on_batch: called after every batch, for progress bars.
        start: int32[N, D], vectors that a mapper evaluates first and learns from, such as the best
            ones of similar layers (``evaluation.transfer``); None for none. They are charged.

    Raises:
        ArgumentTypeError: an argument of a wrong type.
        BudgetError: a budget that is not a positive integer below 2^31.
        ModelError: an objective with a figure that the problem's model does not compute.
        MapSpaceError: an impossible number of threads, or a start that is not of the space; by the
            methods, points not of the space.
        BudgetExceededError: by the methods, more points than remain; nothing is evaluated.
    """

    def __init__(
        self,
        problem: AnyProblem,
        objective: Objective,
        budget: int | None = None,
        threads: int = 1,
        on_batch: Callable[[Evaluator], None] | None = None,
        start: Points | None = None,
    ) -> None:
        require_type("problem", problem, AnyProblem, "such as a Problem")
        require_type("objective", objective, Objective, "see find_objective")
        if budget is not None:
            budget = require_integer("budget", budget, BudgetError)
        problem.require_figures(objective)
        self.problem = problem
        self.objective = objective
        self.budget = budget
        self.used = 0
        self.valid = 0
        self.warmed_up = 0
        self.model_seconds = 0.0
        self.best: Best | None = None
        self.bound: float | None = None
        self.threads = require_threads(threads)
        self._on_batch = on_batch
        self.start = self._vectors(start)
        self._values = np.empty(budget or 0)
        self._status = np.empty(budget or 0, dtype=np.uint8)
        self._identities = np.empty(budget or 0, dtype=np.uint64)

    @property
    def space(self) -> Space:
        """The space of the problem."""
        return self.problem.space

    @property
    def remaining(self) -> float:
        """Evaluations left; infinite without a budget."""
        return math.inf if self.budget is None else self.budget - self.used

    @property
    def trace(self) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        """Objective values, float64[used], and status codes, uint8[used], in order."""
        return self._values[: self.used], self._status[: self.used]

    @property
    def unique(self) -> int:
        """Different mappings evaluated so far; vectors may differ and their mappings not."""
        return len(np.unique(self._identities[: self.used]))

    def evaluate(self, points: Points) -> Batch:
        """Evaluate int32[N, D] points and charge N samples."""
        self._require(len(points))
        batch = self._score(points)
        self.record(points, batch)
        return batch

    def observe(self, points: Points) -> tuple[Batch, Observations]:
        """The same, with what environments show of each: float32[N, 4]."""
        batch, figures = self.evaluate_in_full(points)
        return batch, observation(figures)

    def evaluate_in_full(self, points: Points) -> tuple[Batch, NDArray[np.float64]]:
        """The same, with all figures of each: rows of metrics, float64[N, M].

        It takes longer: mappings that exceed a buffer are evaluated in full.
        """
        self._require(len(points))
        began = time.perf_counter()
        rows = self.problem.evaluate(points, self.threads)
        self.model_seconds += time.perf_counter() - began
        # The status 0 is ok; all others are worth nothing.
        values = np.where(rows.status, np.inf, self.objective.function(rows.metrics))
        batch = Batch(values, rows.status)
        self.record(points, batch)
        return batch, rows.metrics

    def constrain(self, points: Points) -> tuple[Batch, NDArray[np.float64]]:
        """The same, with the constraint violations, float64[N]."""
        batch, figures = self.evaluate_in_full(points)
        return batch, self.problem.violations(points, Rows(figures, batch.status))

    def warm_up(self, points: Points) -> Batch:
        """Evaluate int32[N, D] points for what a search learns before it starts.

        They are counted apart, and neither the trace nor the best knows them.
        """
        batch = self._score(points)
        self.warmed_up += len(points)
        return batch

    def _vectors(self, start: Points | None) -> Points:
        space = self.problem.space
        if start is None:
            return np.empty((0, len(space.parameters)), dtype=np.int32)
        points = space.as_points(start, len(start) if isinstance(start, Sized) else 1)
        for point in points:
            space.decode(point)  # It refuses what is out of range.
        return points

    def _score(self, points: Points) -> Batch:
        began = time.perf_counter()
        batch = Batch(*self.problem.score(points, self.objective, self.threads))
        self.model_seconds += time.perf_counter() - began
        return batch

    def _require(self, samples: int) -> None:
        if samples > self.remaining:
            raise BudgetExceededError(
                f"{samples} evaluations asked for, {self.remaining} of {self.budget} remain"
            )

    @property
    def is_plain(self) -> bool:
        """Whether batches without a new best are only counted."""
        return type(self) is Evaluator and self.budget is None and self._on_batch is None

    def count(self, samples: int, valid: int) -> None:
        """Count samples of which none is a new best, if it ``is_plain``."""
        self.used += samples
        self.valid += valid

    def record(self, points: Points, batch: Batch) -> None:
        """Count evaluated points, then call ``on_batch``; a class that keeps more extends this."""
        start = self.used
        end = start + len(points)
        if self.budget is not None:
            self._values[start:end] = batch.values
            self._status[start:end] = batch.status
            self._identities[start:end] = self.space.identities(points)
        # Before the best: an interrupt must not leave a best the trace does not have.
        self.used = end
        self.valid += len(points) - int(np.count_nonzero(batch.status))
        index = int(batch.values.argmin()) if len(points) else 0
        value = float(batch.values[index]) if len(points) else math.inf
        if value < (self.best.value if self.best else math.inf):
            point = points[index].copy()
            cost, _ = self.problem.evaluate_mapping(self.space.decode(point))
            assert cost is not None
            self.best = Best(value, point, cost, start + index + 1)
        if self._on_batch is not None:
            self._on_batch(self)
