"""The search for the optimum of a map space, with a proof (docs/optimum.md)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maestro_env import _native
from maestro_env.base.checks import require_type
from maestro_env.base.errors import MaestroEnvError
from maestro_env.base.parallelism import require_threads
from maestro_env.evaluation.any_problem import AnyProblem
from maestro_env.evaluation.evaluator import Best
from maestro_env.evaluation.models import models_with
from maestro_env.evaluation.objectives import Objective
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.space import Points
from maestro_env.mapspace.two_level_space import MapSpace

MOST_NODES = 10**15
"""Boxes of mappings that a search may take at most, if nothing else limits it."""

_BOUNDED = ("latency_cycles", "energy_nj", "area_um2")
# Larger counts are not exact as doubles, which the proof needs.
_MOST_COUNTED = 2**53
# Longer ranges take too long to split, and more loops have too many orders to list.
_MOST_SIZES = 2**20
_MOST_LOOPS = 7


class OptimumError(MaestroEnvError, ValueError):
    """A problem or an objective whose optimum cannot be proven."""


class ProofSearch(ABC):
    """A search that asks for the values of some mappings and rules out others by a lower bound.

    Which ones it asks for depends only on the values, not on threads or time::

        search = OptimumSearch(problem, objective)
        while not search.finished:
            points = search.ask()
            search.tell(points, problem.score(points, objective)[0])

    Attributes:
        problem, objective: what is searched.
        best: the lowest value so far; infinite if none.
        best_point: a vector of this value, int32[D]; None if none.
    """

    def __init__(self, problem: AnyProblem, objective: Objective) -> None:
        self.problem, self.objective = problem, objective
        self.best = math.inf
        self.best_point: Points | None = None

    @property
    @abstractmethod
    def finished(self) -> bool:
        """Whether nothing is left to do."""

    @property
    @abstractmethod
    def bound(self) -> float:
        """No mapping has a lower value; infinite if none is valid."""

    @property
    @abstractmethod
    def nodes(self) -> int:
        """The work that bounds took, for limits."""

    @property
    @abstractmethod
    def left(self) -> NDArray[np.int32]:
        """Boxes of mappings that may hold a lower value than the best, a row of numbers each."""

    @abstractmethod
    def resume(
        self, best_point: ArrayLike | None, best: float | None, left: NDArray[np.int32]
    ) -> None:
        """Continue another search of the same problem.

        Raises:
            OptimumError: rows that are no boxes of this problem.
        """

    @abstractmethod
    def ask(self, nodes: int = 100_000, threads: int = 1) -> Points:
        """Return vectors whose values are wanted, int32[N, D]; there may be none for now."""

    @abstractmethod
    def learn(self, values: NDArray[np.float64]) -> None:
        """Go on with values, float64[N], of what was asked for, or known beforehand."""

    @property
    def gap(self) -> float:
        """How far the best is above the bound, as a share of it; infinite without a best."""
        return self.best / self.bound - 1 if math.isfinite(self.best) else math.inf

    @classmethod
    @abstractmethod
    def require(cls, problem: Any, objective: Objective) -> None:
        """Refuse a problem or an objective that has no bounds, with an ``OptimumError``."""

    def opening(self) -> Iterator[Points]:
        """Yield vectors to evaluate first, int32[N, D]: none."""
        return iter(())

    def begin_with(self, best: Best | None) -> None:
        """Look only for what is better than a search's best."""
        if best is not None:
            self.tell(best.point[np.newaxis], np.array([best.value]))

    def tell(self, points: Points, values: NDArray[np.float64]) -> None:
        """Learn the values, float64[N], of the vectors asked for, or known beforehand."""
        if not len(values):
            return
        index = int(values.argmin())
        if values[index] < self.best:
            self.best, self.best_point = float(values[index]), points[index].copy()
        self.learn(values)


class OptimumSearch(ProofSearch):
    """Branch and bound over all mappings of a problem with two buffers.

    Args:
        problem: under the model ``exact``.
        objective: a product of latency, energy and area, in this order, each as often as wanted.

    Raises:
        OptimumError: another model, operator or objective, a layer of 2^49 MACs or more (fewer on
            slow networks), or a space with more than 1,048,576 sizes of a parameter, or that cuts
            more than 7 loops.
    """

    problem: Problem

    def __init__(self, problem: Problem, objective: Objective) -> None:
        self.require(problem, objective)
        super().__init__(problem, objective)
        space = problem.space
        self._native = _native.OptimumSearch(
            space.layer.native, space.hardware.native, space.native, objective.columns
        )
        self._least = objective.bound(space.layer, space.hardware) if objective.bound else 0.0

    @classmethod
    def require(cls, problem: Any, objective: Objective) -> None:
        """Refuse what has no bounds, or too many boxes.

        Raises:
            OptimumError: another model, operator or objective, or too many boxes.
        """
        require_type("problem", problem, Problem, "of a MapSpace")
        require_type("objective", objective, Objective, "see find_objective")
        if "proof" not in problem.abilities:
            allowed = ", ".join(models_with("proof"))
            raise OptimumError(f"model {problem.model} has no bounds; allowed: {allowed}")
        if problem.layer.operator == "TRCONV":
            raise OptimumError("model exact has no figures of operator TRCONV; give a CONV")
        if unbounded := [name for name in objective.factors if name not in _BOUNDED]:
            raise OptimumError(
                f"objective {objective.name} has no bounds, as {unbounded[0]} has none; allowed: "
                f"products of {', '.join(_BOUNDED)}"
            )
        if objective.columns != tuple(sorted(objective.columns)):
            raise OptimumError(
                f"objective {objective.name} is {'*'.join(objective.factors)}; allowed: first all "
                f"{', then all '.join(_BOUNDED)}, as find_objective orders them"
            )
        # Of a MAC, every level may move three words in and one out, each in a transfer of its own.
        most = _MOST_COUNTED // max(16, 5 + 4 * problem.hardware.noc_latency)
        if problem.layer.macs >= most:
            raise OptimumError(
                f"{problem.layer} has {problem.layer.macs:,} MACs; allowed: fewer than {most:,} "
                f"with a latency of {problem.hardware.noc_latency:,} cycles"
            )
        _require_searchable(problem.space)

    @property
    def finished(self) -> bool:
        """Whether no mapping has a lower value than the best."""
        return self._native.finished

    @property
    def bound(self) -> float:
        """No mapping has a lower value; infinite if none is valid."""
        # Early in a search the bound of the objective, which needs no mapping, is the better one.
        bound = self._native.bound
        return max(bound, self._least) if self._least < self.best else bound

    @property
    def nodes(self) -> int:
        """Boxes of mappings whose bound was computed."""
        return self._native.nodes

    @property
    def left(self) -> NDArray[np.int32]:
        """Boxes of mappings that may hold a lower value than the best, a row of numbers each."""
        return self._native.left()

    def resume(
        self, best_point: ArrayLike | None, best: float | None, left: NDArray[np.int32]
    ) -> None:
        """Continue another search of the same problem.

        Raises:
            OptimumError: rows that are no boxes of this problem.
        """
        if best is not None:
            self.tell(np.array([best_point], dtype=np.int32), np.array([best]))
        try:
            self._native.restart(left)
        except ValueError as error:
            raise OptimumError(str(error)) from None

    def ask(self, nodes: int = 100_000, threads: int = 1) -> Points:
        """Return vectors whose values are wanted, int32[N, D].

        There are none if so many nodes went by without any, or if the search has finished.
        """
        return self._native.ask(nodes, require_threads(threads))

    def learn(self, values: NDArray[np.float64]) -> None:
        """Rule out what cannot be better than the best."""
        self._native.tell(self.best)


def _require_searchable(space: MapSpace) -> None:
    for parameter in space.parameters:
        if parameter.is_size and parameter.choices > _MOST_SIZES:
            raise OptimumError(
                f"{parameter.name} of {space.layer} has {parameter.choices:,} choices; allowed: "
                f"{_MOST_SIZES:,}: take tiles 'divisors'"
            )
    cut = [dim for dim in space.extents if not isinstance(space.tile("l2", dim), int)]
    loops = sum(space.extents[dim] > 1 for dim in cut)
    if loops > _MOST_LOOPS:
        raise OptimumError(
            f"schema {space.schema} cuts {loops} loops of {space.layer}; allowed: {_MOST_LOOPS}: "
            "take schema legal13"
        )
