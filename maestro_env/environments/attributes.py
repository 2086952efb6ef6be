"""What an environment tells beside ``info``, computed when it is read."""

from __future__ import annotations

import math
from dataclasses import dataclass

from maestro_env.environments.task import Task
from maestro_env.evaluation.cost import Cost
from maestro_env.evaluation.objectives import Objective
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.mapping import Mapping
from maestro_env.mapspace.space import MapSpace, Points


@dataclass
class Best:
    """The best valid vector so far, int32[D], and the value of its objective."""

    value: float = math.inf
    vector: Points | None = None


class Attributes:
    """Attributes of a ``MaestroEnv``: of its task, of the last step, and of the best so far."""

    _task: Task
    _vector: Points | None
    _best: Best

    @property
    def problem(self) -> Problem:
        """The problem of the episode; with ``layers`` a reset may change it."""
        return self._task.problem

    @property
    def space(self) -> MapSpace:
        """The map space whose vectors are evaluated."""
        return self.problem.space

    @property
    def objective(self) -> Objective:
        """What is minimised."""
        return self._task.objective

    @property
    def reference(self) -> float:
        """The objective of a mapping that earns 1 under the reward ``inverse``."""
        return self._task.reference

    @property
    def vector(self) -> Points | None:
        """The vector of the last step, int32[D]; None if it evaluated nothing."""
        return None if self._vector is None else self._vector.copy()

    @property
    def mapping(self) -> Mapping | None:
        """The mapping of the last step; None if it evaluated nothing."""
        return None if self._vector is None else self.space.decode(self._vector)

    @property
    def cost(self) -> Cost | None:
        """The figures of the last step; None if there are none."""
        return self._cost_of(self.mapping)

    @property
    def best_objective(self) -> float:
        """The least objective of this layer so far; infinite without a valid mapping."""
        return self._best.value

    @property
    def best_vector(self) -> Points | None:
        """The vector of the best valid mapping of this layer so far, int32[D]."""
        return None if self._best.vector is None else self._best.vector.copy()

    @property
    def best_mapping(self) -> Mapping | None:
        """The best valid mapping of this layer so far."""
        return None if self.best_vector is None else self.space.decode(self.best_vector)

    @property
    def best_cost(self) -> Cost | None:
        """The figures of the best valid mapping of this layer so far."""
        return self._cost_of(self.best_mapping)

    def _cost_of(self, mapping: Mapping | None) -> Cost | None:
        return None if mapping is None else self.problem.evaluate_mapping(mapping)[0]
