"""One mapping of a report: what it costs, and where time and energy go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from maestro_env.base.errors import ModelError
from maestro_env.base.real_units import RealFigures
from maestro_env.evaluation.any_problem import AnyProblem
from maestro_env.evaluation.cost import Cost
from maestro_env.experiments.search.goals import Goal
from maestro_env.models import room_of
from maestro_env.optimum.known import known_optimum


@dataclass(frozen=True)
class Curve:
    """The best so far of a search.

    Args:
        name: of the search.
        improvements: samples that found a new best: the 1-based number, rising, and its value.
            Of a proof, seconds.
        samples: of the search.
    """

    name: str
    improvements: Sequence[tuple[float, float]]
    samples: float


@dataclass(frozen=True, eq=False)
class Found:
    """A mapping, and the searches that it comes from.

    Args:
        name: of the layer, as it was called.
        goal: what was searched for.
        vector: of the mapping.
        best: least value of the objective that was found, by this mapping or another one.
        bound: no mapping has a lower value of the objective; None where none is known.
        gap: how far the best is above it, as a share of it; 0 is proven.
        by: the mapper that found it, or what proved it.
        samples: evaluated for it in all.
        count: executions of the layer.
        curves: of the searches.
        over: what ``curves`` count: ``seconds`` where they are the best and the bound.
    """

    name: str
    goal: Goal
    vector: Sequence[int]
    best: float
    bound: float | None
    gap: float | None
    by: str
    samples: int
    count: int
    curves: tuple[Curve, ...]
    over: str = "samples"

    @cached_property
    def mapping(self) -> Any:
        """The loop nest, as the space decodes it."""
        return self.goal.problem.space.decode(np.array(self.vector, dtype=np.int32))

    @cached_property
    def cost(self) -> Cost:
        """What one execution takes."""
        cost, _ = self.goal.problem.evaluate_mapping(self.mapping)
        assert cost is not None
        return cost

    @cached_property
    def real(self) -> RealFigures:
        """The same in real units."""
        return self.goal.problem.real(self.mapping)

    @property
    def value(self) -> float:
        """The objective of one execution."""
        points = np.array([self.vector], dtype=np.int32)
        return float(self.goal.problem.score(points, self.goal.objective)[0][0])

    @property
    def bottleneck(self) -> str:
        """The resource of which more would save most cycles."""
        return bottleneck(self.goal.problem, self.mapping)

    @property
    def nest(self) -> str:
        """The loop nest as people read it."""
        return self.goal.problem.show(self.mapping)

    @cached_property
    def explanation(self) -> str:
        """Why the mapping costs what it does; the loop nest alone under a model that cannot say."""
        problem, objective = self.goal.problem, self.goal.objective
        try:
            return str(room_of(problem.model).explain(problem, self.mapping, objective))
        except ModelError:
            return self.nest

    @property
    def intensity(self) -> float | None:
        """MACs per word of main memory; None where the model has no such words."""
        words = (self.cost.offchip_read_words or 0) + (self.cost.offchip_write_words or 0)
        return self.goal.problem.layer.macs / words if words else None

    @property
    def macs_per_cycle(self) -> float:
        """The throughput."""
        return self.goal.problem.layer.macs / self.cost.latency_cycles

    @cached_property
    def energy(self) -> Mapping[tuple[str, str], float]:
        """Parts of the energy of one execution in nJ, by memory and tensor, from the PEs outwards.

        They add up to all of it. Empty for a model whose figures do not.
        """
        problem = self.goal.problem
        return room_of(problem.model).energy(problem, self.cost)


def bound_and_gap(
    goal: Goal, best: float, proven: float | None = None
) -> tuple[float | None, float | None]:
    """Return the best bound that is known of a goal, and how far a value is above it, as ``Found``.

    Args:
        goal: what was searched for.
        best: the value.
        proven: a bound that the search has proven; None for none.
    """
    known = known_optimum(goal.problem, goal.objective)
    bounds = (goal.lower_bound, known.bound if known else None, proven)
    bound = max((each for each in bounds if each is not None), default=None)
    return bound, max(best / bound - 1, 0.0) if bound else None


def bottleneck(problem: AnyProblem, mapping: Any) -> str:
    """Return the resource of which more would save most cycles; ``-`` where none is known."""
    return room_of(problem.model).bottleneck(problem, mapping)
