"""Bayesian optimisation for budgets of many thousands of samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from maestro_env.map_space import MapSpace, Points
from mappers.arrays import Floats
from mappers.base import AskTellMapper
from mappers.draws import DRAWS
from mappers.operators import mutate, uniform_crossover, unseen
from mappers.settings import setting
from mappers.surrogates import Features, Forest, GaussianProcess, Surrogate, features

SURROGATES: Mapping[str, Callable[[BayesianConfig, np.random.Generator], Surrogate]] = {
    "forest": lambda config, rng: Forest(config.trees, rng),
    "gp": lambda config, rng: GaussianProcess(),
}
"""Surrogates by name."""


@dataclass(frozen=True)
class BayesianConfig:
    """Parameters of Bayesian optimisation."""

    initial: int = setting(100, "random samples before the first fit", least=1, most=100_000)
    batch: int = setting(50, "samples suggested at a time", least=1, most=100_000)
    surrogate: str = setting("forest", "regression that predicts objectives", allowed=SURROGATES)
    trees: int = setting(10, "trees of a forest", least=2, most=1000)
    growth: float = setting(1.25, "samples of a fit relative to the last", least=1, most=1000)
    candidates: int = setting(500, "random candidates of a batch", least=1, most=100_000)
    local: int = setting(2000, "candidates of a batch bred from the best points", most=100_000)
    parents: int = setting(100, "best points that may be parents", least=1, most=100_000)
    crossover_rate: float = setting(0.5, "chance that an offspring mixes two parents", most=1)
    mutation_rate: float = setting(0.2, "chance per parameter of a change; one at least", most=1)
    step_rate: float = setting(0.5, "share of size changes that are small steps", most=1)
    draw: str = setting("uniform", "distribution of random points", allowed=DRAWS)


class BayesianMapper(AskTellMapper[BayesianConfig]):
    """Proposes the candidates with the largest expected improvement of the log objective.

    Candidates are random points and offspring of the best points. As fits take longer with more
    samples, they become rarer; between fits only the candidates follow new samples.
    """

    DEFAULT = BayesianConfig()

    def start(self, space: MapSpace, rng: np.random.Generator) -> None:
        super().start(space, rng)
        self._draw = DRAWS[self.config.draw]
        self._surrogate = SURROGATES[self.config.surrogate](self.config, rng)
        self._seen: set[int] = set()
        self._features: list[Features] = []
        self._logs: list[Floats] = []
        self._refit_at = 0
        self._parents: Points = np.empty((0, len(space.sizes)), dtype=np.int32)
        self._parent_logs = np.empty(0)

    def ask(self, n: int) -> Points:
        config = self.config
        # Nothing to model yet.
        if not np.isfinite(self._parent_logs).any():
            random = self._draw(self._space, config.initial, self._rng)
            return unseen(random, self._seen, self._space)[:n]
        if len(self._seen) >= self._refit_at:
            self._refit()
        candidates = unseen(self._candidates(), self._seen, self._space)
        mean, std = self._surrogate.predict(features(self._space, candidates))
        gains = expected_improvement(mean, std, self._parent_logs[0])
        best_first = np.lexsort((mean, -gains))
        return candidates[best_first[: min(n, config.batch)]]

    def tell(self, points: Points, values: Floats) -> None:
        logs = np.log10(values)
        self._seen.update(self._space.identities(points).tolist())
        self._features.append(features(self._space, points))
        self._logs.append(logs)
        parents = np.concatenate([self._parents, points])
        parent_logs = np.concatenate([self._parent_logs, logs])
        best_first = np.argsort(parent_logs, kind="stable")[: self.config.parents]
        self._parents, self._parent_logs = parents[best_first], parent_logs[best_first]

    def _refit(self) -> None:
        targets = _finite(np.concatenate(self._logs))
        self._surrogate.fit(np.concatenate(self._features), targets)
        self._refit_at = math.ceil(len(self._seen) * self.config.growth)

    def _candidates(self) -> Points:
        config = self.config
        if self._space.size() <= config.candidates + config.local:
            every = np.unravel_index(np.arange(self._space.size()), self._space.sizes)
            return np.stack(every, axis=1).astype(np.int32)
        random = self._draw(self._space, config.candidates, self._rng)
        fresh = self._draw(self._space, config.local, self._rng)
        valid = self._parents[np.isfinite(self._parent_logs)]
        mothers, fathers = (
            valid[self._rng.integers(len(valid), size=config.local)] for _ in range(2)
        )
        mixed = uniform_crossover(mothers, fathers, config.crossover_rate, self._rng)
        local = mutate(mixed, fresh, self._space, config.mutation_rate, config.step_rate, self._rng)
        return np.concatenate([local, random])


def expected_improvement(mean: Floats, std: Floats, best: float) -> Floats:
    """Return E[max(0, best - X)] of normal X, float64[N]; the deviation may be 0."""
    below = best - mean
    sure = std <= 0
    z = below / np.where(sure, 1, std)
    density = np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    return np.where(sure, np.maximum(below, 0), below * ndtr(z) + std * density)


def _finite(logs: Floats) -> Floats:
    """Give invalid points the value of the worst valid one.

    With a larger value, the model's uncertainty about validity would count as a possible gain and
    attract the search.
    """
    valid = np.isfinite(logs)
    return np.where(valid, logs, logs[valid].max())
