"""What a search has evaluated: which mappings, and the best of them."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from maestro_env.base.errors import MapSpaceError
from maestro_env.base.native_learning import best_samples
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.masks import Masks
from maestro_env.mappers.parts.arrays import DRAWS, Floats, Integers
from maestro_env.mapspace.space import Points


class Elites:
    """Keeps the best samples; of samples with the same value, the first.

    Which samples are kept depends only on their values, which all agents see. So each agent can
    store its own parameters of them, and the parts fit together without communication.
    """

    def __init__(self, capacity: int, parameters: int) -> None:
        self.actions: Integers = np.empty((0, parameters), dtype=np.int64)
        self.values: Floats = np.empty(0)
        self._capacity = capacity

    def add(self, actions: Integers, values: Floats) -> None:
        """Add int64[N, D] samples with float64[N] values; infinite ones are never kept."""
        self.actions, self.values = best_samples(
            self.actions, self.values, actions, values, self._capacity
        )


# Draws until one fits the buffers; where fewer do, masks draw it.
_ATTEMPTS = 16


class Archive:
    """Spends the samples of one search, and knows its mappings again.

    Args:
        evaluator: of the search.
        best: how many of the best mappings to remember.
        rng: of the search.

    Attributes:
        best: the best mappings so far.
        count: samples spent.
    """

    def __init__(self, evaluator: Evaluator, best: int, rng: np.random.Generator) -> None:
        self.space, self.rng, self.count = evaluator.space, rng, 0
        self.best = Elites(best, len(self.space.sizes))
        self._evaluator, self._masks = evaluator, Masks(evaluator.problem)
        # By their identities.
        self._known: set[int] = set()

    def evaluate(self, points: Points) -> Floats:
        """Evaluate int32[N, D] vectors; return their values, float64[N]."""
        values = self._evaluator.evaluate(points).values
        self.keep(points, values)
        return values

    def keep(self, points: Points, values: Floats) -> None:
        """Know vectors that were evaluated, int32[N, D], and their values, float64[N]."""
        self.count += len(points)
        self.best.add(points.astype(np.int64), values)
        self._known.update(self.space.identities(points).tolist())

    def draw(self, n: int, distribution: str) -> Points:
        """Draw vectors that masks allow from one of ``DRAWS``, int32[n, D].

        Any vectors where no mapping fits.
        """
        drawn = DRAWS[distribution](self.space, n * _ATTEMPTS, self.rng)
        found = drawn[self._masks.allow(drawn)][:n]
        missing = n - len(found)
        more = drawn[:missing]
        with suppress(MapSpaceError):
            more = self._masks.sample(missing, self.rng)
        return np.concatenate([found, more])

    def choose(self, points: Points, values: Floats) -> Integers:
        """Return the row of one candidate of each of E steps, int64[E], different if possible.

        Those come first that are new and that masks allow, and of these the most valuable.

        Args:
            points: int32[E * C, D], candidates of a step next to each other.
            values: float64[E, C].
        """
        identities = self.space.identities(points).tolist()
        fresh = np.array([each not in self._known for each in identities])
        fresh[fresh] = self._masks.allow(points[fresh])
        ranks = np.lexsort((-values, ~fresh.reshape(values.shape)), axis=1)
        ranks += np.arange(len(values))[:, np.newaxis] * values.shape[1]
        found, taken = [], set()
        for rows in ranks.tolist():
            others = [row for row in rows if identities[row] not in taken]
            found.append((others or rows)[0])
            taken.add(identities[found[-1]])
        return np.array(found)
