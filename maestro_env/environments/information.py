"""What environments tell: observations, info with the same keys at every step, attributes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from maestro_env import _native
from maestro_env.base.errors import UnknownNameError
from maestro_env.environments.actions import Actions
from maestro_env.environments.task import Task
from maestro_env.evaluation.any_problem import AnyProblem
from maestro_env.evaluation.cost_and_status import Cost
from maestro_env.evaluation.objectives import Objective
from maestro_env.evaluation.observations_and_rewards import CONTEXT, Observations
from maestro_env.mapspace.mapping import Mapping
from maestro_env.mapspace.space import Points, Space

Value = TypeVar("Value", float, NDArray[np.float64])

INFOS = ("basic", "full")
"""How much an environment tells: ``full`` adds the optimum, the vector and all figures."""

NOT_EVALUATED = 255
"""Status code where nothing was evaluated; it is no index of ``STATUSES``."""

NO_FIGURES = np.full(len(_native.METRICS), math.nan)
"""The row of metrics where nothing was evaluated."""


def require_info(info: str) -> str:
    """Return how much is told, if it is a name of ``INFOS``."""
    if info not in INFOS:
        raise UnknownNameError("info", info, INFOS)
    return info


def regret(value: Value, optimum: float) -> Value:
    """Return how far a value is above the optimum, as a share of it.

    It is infinite for an infinite value, and NaN where no optimum is known.
    """
    return value / optimum - 1


def full_information(
    value: Value, known: tuple[float, float], vector: Points, figures: NDArray[np.float64]
) -> dict[str, Value | float | Points]:
    """Return what ``info="full"`` adds for one or N values; NaN is what is not known.

    Args:
        value: of the objective.
        known: value and bound of the optimum.
        vector: int32[(N,) D].
        figures: float64[(N,) M], one column for each name of ``METRICS``.
    """
    optimum, bound = known
    columns = figures.tolist() if figures.ndim == 1 else figures.T
    return {
        "optimum": optimum,
        "optimum_bound": bound,
        "optimum_gap": optimum / bound - 1,
        "regret": regret(value, optimum),
        "vector": vector,
        **dict(zip(_native.METRICS, columns, strict=True)),
    }


def known_alone(told: dict[str, Any]) -> dict[str, Any]:
    """Return information without what is NaN: it equals nothing, so no two steps would be alike."""
    return {key: each for key, each in told.items() if not isinstance(each, float) or each == each}


@dataclass
class Incumbent:
    """The best valid vector so far, int32[D], and the value of its objective."""

    value: float = math.inf
    vector: Points | None = None


class Attributes:
    """Attributes of a ``MaestroEnv``: of its task, of the last step, and of the best so far."""

    _task: Task
    _vector: Points | None
    _best: Incumbent

    @property
    def problem(self) -> AnyProblem:
        """The problem of the episode; with ``layers`` a reset may change it."""
        return self._task.problem

    @property
    def space(self) -> Space:
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
        return None if self.vector is None else self.space.decode(self.vector)

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


OBSERVATIONS = ("cost", "context")
"""What an observation tells: of mappings, or also of layer, hardware and objective."""


class Observer:
    """Puts observations together, of one environment or of N copies that step together.

    Args:
        kind: a name of ``OBSERVATIONS``.
        actions: whose choices so far are seen.
        copies: empty for one environment, (N,) for N copies.
    """

    def __init__(self, kind: str, actions: Actions, copies: tuple[int, ...] = ()) -> None:
        if kind not in OBSERVATIONS:
            raise UnknownNameError("observation", kind, OBSERVATIONS)
        self._actions = actions
        self._cost_alone = kind == "cost" and not actions.seen()
        self._with_context = kind == "context"
        self._copies = copies
        entries = _native.OBSERVED + sum(part.shape[-1] for part in actions.seen())
        entries += len(CONTEXT) if self._with_context else 0
        self.space: spaces.Space[Observations] = spaces.Box(0.0, 1.0, (entries,), np.float32)

    def see(self, cost: NDArray[np.float32], task: Task) -> Observations:
        """Return observations, float32[(N,) n], of costs as float32[(N,) 4]."""
        if self._cost_alone:
            return cost
        parts = [cost, *self._actions.seen()]
        if self._with_context:
            parts.append(np.broadcast_to(task.context, (*self._copies, len(CONTEXT))))
        return np.concatenate(parts, axis=-1)
