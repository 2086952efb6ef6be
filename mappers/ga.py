"""A plain genetic algorithm over integer vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maestro_env.mappers.base import AskTellMapper, StartConfig, setting
from maestro_env.mappers.parts.arrays import DRAWS, Floats
from maestro_env.mappers.parts.operators import mutate, tournament, uniform_crossover
from maestro_env.mapspace.space import Points, Space


@dataclass(frozen=True)
class GeneticConfig(StartConfig):
    """Parameters of the plain GA."""

    population: int = setting(100, "individuals of a generation", least=2, most=100_000)
    elites: int = setting(10, "best individuals that survive, not evaluated again", most=100_000)
    tournament: int = setting(3, "individuals drawn to choose one parent", least=1, most=1000)
    crossover_rate: float = setting(0.9, "chance that a child mixes two parents", most=1)
    mutation_rate: float = setting(0.1, "chance per parameter of a change; one at least", most=1)
    draw: str = setting("uniform", "distribution of new values", allowed=DRAWS)
    step_rate: float = setting(0.0, "share of size changes that are small steps", most=1)


class GeneticMapper(AskTellMapper[GeneticConfig]):
    """Tournament selection, uniform crossover, mutation, elitism."""

    DEFAULT = GeneticConfig()

    def start(self, space: Space, rng: np.random.Generator) -> None:
        super().start(space, rng)
        self._draw = DRAWS[self.config.draw]
        self._parents: Points = np.empty((0, len(space.sizes)), dtype=np.int32)
        self._values = np.empty(0)

    def ask(self, n: int) -> Points:
        config = self.config
        # Selection needs a valid individual.
        if not np.isfinite(self._values).any():
            return self._draw(self._space, min(n, config.population), self._rng)
        children = max(1, config.population - config.elites)
        mothers, fathers = (
            tournament(self._parents, self._values, children, config.tournament, self._rng)
            for _ in range(2)
        )
        mixed = uniform_crossover(mothers, fathers, config.crossover_rate, self._rng)
        fresh = self._draw(self._space, children, self._rng)
        changed = mutate(
            mixed, fresh, self._space, config.mutation_rate, config.step_rate, self._rng
        )
        return changed[:n]

    def tell(self, points: Points, values: Floats) -> None:
        best_first = np.argsort(self._values, kind="stable")[: self.config.elites]
        self._parents = np.concatenate([self._parents[best_first], points])
        self._values = np.concatenate([self._values[best_first], values])


class LogGeneticMapper(GeneticMapper):
    """Log-uniform draws and small steps of sizes: the control for other log-uniform starts."""

    DEFAULT = GeneticConfig(population=20, elites=1, tournament=2, draw="log", step_rate=0.8)
