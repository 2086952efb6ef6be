"""Branch and bound: a search that ends with the optimum and its proof (docs/optimum.md)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from maestro_env.evaluation.any_problem import AnyProblem
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.objectives import Objective
from maestro_env.mappers.base import Mapper, setting
from maestro_env.mappers.marl import MarlMapper
from maestro_env.mappers.prior import PriorMapper
from maestro_env.optimum.solving import require_search, search_for

_NODES = 100_000


@dataclass(frozen=True)
class OptimumConfig:
    """Parameters of the search for the optimum."""

    start: str = setting(
        "marl", "mapper whose samples give a cost to improve on", allowed=("marl", "prior")
    )
    samples: int = setting(1000, "samples of this mapper")
    nodes: int = setting(
        10**9, "boxes of mappings (thousands of states) to look into at most", least=1, most=10**15
    )


class OptimumMapper(Mapper[OptimumConfig]):
    """Samples a good mapping, then rules out or evaluates all others; it may end early."""

    DEFAULT = OptimumConfig()

    def require_fit(self, problem: AnyProblem, objective: Objective) -> None:
        require_search(problem, objective)

    def warning(self, goals: Iterable[tuple[AnyProblem, Objective]]) -> str | None:
        return self._starter.warning(goals) if self.config.samples else None

    @property
    def _starter(self) -> Mapper[Any]:
        return PriorMapper() if self.config.start == "prior" else MarlMapper()

    def search(self, evaluator: Evaluator, budget: int, rng: np.random.Generator) -> None:
        """Spend ``budget`` evaluations, or fewer if the optimum is proven or nodes run out."""
        search = search_for(evaluator.problem, evaluator.objective)
        spent = min(self.config.samples, budget)
        if spent:
            self._starter.search(evaluator, spent, rng)
        else:
            spent = len(self.begin(evaluator, budget)[0])
        search.begin_with(evaluator.best)
        for points in search.opening():
            points = points[: budget - spent]
            if len(points):
                search.tell(points, evaluator.evaluate(points).values)
            spent += len(points)
        while spent < budget and not search.finished and search.nodes < self.config.nodes:
            # Between calls Ctrl-C gets through.
            nodes = min(_NODES, self.config.nodes - search.nodes)
            points = search.ask(nodes)[: budget - spent]
            if len(points):
                search.tell(points, evaluator.evaluate(points).values)
            spent += len(points)
        evaluator.bound = search.bound
