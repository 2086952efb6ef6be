"""A plain genetic algorithm over integer vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maestro_env.map_space import MapSpace, Points
from mappers.base import AskTellMapper


@dataclass(frozen=True)
class GeneticConfig:
    """Parameters of the plain GA."""

    population: int = 100
    """Individuals of a generation."""
    elites: int = 10
    """Best individuals that survive unchanged, and are not evaluated again."""
    tournament: int = 3
    """Individuals drawn to choose one parent."""
    crossover_rate: float = 0.9
    """Chance that a child mixes two parents instead of copying one."""
    mutation_rate: float = 0.1
    """Chance per parameter of a new uniform value; one parameter changes at least."""


class GeneticMapper(AskTellMapper):
    """Tournament selection, uniform crossover, uniform mutation, elitism."""

    def __init__(self, config: GeneticConfig | None = None) -> None:
        self.config = config or GeneticConfig()

    def start(self, space: MapSpace, rng: np.random.Generator) -> None:
        self._space = space
        self._rng = rng
        self._parents: Points = np.empty((0, len(space.sizes)), dtype=np.int32)
        self._values = np.empty(0)

    def ask(self, n: int) -> Points:
        # Nothing to select from yet: invalid parents would only mislead.
        if not np.isfinite(self._values).any():
            return self._space.sample(min(n, self.config.population), self._rng)
        children = self._mutate(self._cross(self.config.population - self.config.elites))
        return children[:n]

    def tell(self, points: Points, values: NDArray[np.float64]) -> None:
        best_first = np.argsort(self._values, kind="stable")[: self.config.elites]
        self._parents = np.concatenate([self._parents[best_first], points])
        self._values = np.concatenate([self._values[best_first], values])

    def _select(self, n: int) -> Points:
        entrants = self._rng.integers(0, len(self._parents), size=(n, self.config.tournament))
        winners: Points = entrants[np.arange(n), np.argmin(self._values[entrants], axis=1)]
        return self._parents[winners]

    def _cross(self, n: int) -> Points:
        mothers, fathers = self._select(n), self._select(n)
        mixes = self._rng.random((n, 1)) < self.config.crossover_rate
        from_father = mixes & (self._rng.random(mothers.shape) < 0.5)
        return np.where(from_father, fathers, mothers)

    def _mutate(self, points: Points) -> Points:
        changes = self._rng.random(points.shape) < self.config.mutation_rate
        forced = self._rng.integers(0, points.shape[1], size=len(points))
        changes[np.arange(len(points)), forced] = True
        mutants: Points = np.where(changes, self._space.sample(len(points), self._rng), points)
        return mutants
