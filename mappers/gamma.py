"""GAMMA: a genetic algorithm with operators for the parts of a mapping."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maestro_env.evaluation.any_problem import AnyProblem
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.objectives import Objective
from maestro_env.evaluation.problem import require
from maestro_env.mappers.base import AskTellMapper, setting
from maestro_env.mappers.parts import gamma_operators as operators
from maestro_env.mappers.parts.arrays import Floats
from maestro_env.mappers.parts.gamma_operators import Genes
from maestro_env.mappers.parts.operators import unseen
from maestro_env.mapspace.space import MapSpace, Points, Space


@dataclass(frozen=True)
class GammaConfig:
    """Parameters of GAMMA; the defaults are those of the ``run`` of its public program."""

    population: int = setting(100, "individuals of a generation", least=2, most=100_000)
    elite_ratio: float = setting(0.05, "share that survives without another evaluation", most=1)
    parent_ratio: float = setting(0.4, "share that breeds", most=1)
    crossover_rate: float = setting(0.57, "chance that a pair exchanges a dimension", most=1)
    order_rate: float = setting(0.47, "chance that two loops of a child are swapped", most=1)
    mutation_rate: float = setting(0.53, "chance of one mutation", most=1)
    mutations: int = setting(3, "most mutations of a child", most=1000)
    factor_rate: float = setting(0.0, "share of tile mutations that draw a factor", most=1)
    # The program's default of 0.1 has no effect: docs/mappers.md.
    parallel_rate: float = setting(0.0, "chance that the levels swap parallel dimensions", most=1)


class GammaMapper(AskTellMapper[GammaConfig]):
    """The best individuals breed; children change in tiles, orders and parallel dimensions."""

    DEFAULT = GammaConfig()

    def require_fit(self, problem: AnyProblem, objective: Objective) -> None:
        require(problem, "levels", "mapper gamma")

    def search(self, evaluator: Evaluator, budget: int, rng: np.random.Generator) -> None:
        self.require_fit(evaluator.problem, evaluator.objective)
        super().search(evaluator, budget, rng)

    def start(self, space: Space, rng: np.random.Generator) -> None:
        super().start(space, rng)
        assert isinstance(space, MapSpace)  # Others are refused.
        self._genes = Genes(space)
        self._parents: Points = np.empty((0, len(space.sizes)), dtype=np.int32)
        self._values = np.empty(0)

    def ask(self, n: int) -> Points:
        if len(self._parents):
            population = self._breed()
        else:
            population = operators.first_population(self._genes, self.config.population, self._rng)
        known = set(self._space.identities(self._parents).tolist())
        return unseen(population, known, self._space)[:n]

    def tell(self, points: Points, values: Floats) -> None:
        config = self.config
        elites = int(config.population * config.elite_ratio)
        parents = max(1, int(config.population * config.parent_ratio))
        survivors = np.concatenate([self._parents[:elites], points])
        of_survivors = np.concatenate([self._values[:elites], values])
        best, of_best = operators.best_distinct(survivors, of_survivors, self._space)
        self._parents, self._values = best[:parents], of_best[:parents]

    def _breed(self) -> Points:
        config, genes, rng = self.config, self._genes, self._rng
        children = operators.cross_tiles(
            self._parents, genes, config.population, config.crossover_rate, rng
        )
        children = operators.swap_orders(children, genes, config.order_rate, rng)
        for _ in range(config.mutations):
            children = operators.mutate(
                children, genes, config.mutation_rate, config.factor_rate, rng
            )
        children = operators.swap_parallel(children, genes, config.parallel_rate, rng)
        return self._space.clipped(children)
