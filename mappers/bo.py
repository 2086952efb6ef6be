"""Bayesian optimisation for budgets of many thousands of samples, and the surrogates it fits.

Surrogates are regressions with uncertainty in place of the cost model. They read features of
points: similar points have similar numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from sklearn.ensemble import RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern
from threadpoolctl import ThreadpoolController

from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.mappers.base import AskMapper, setting
from maestro_env.mappers.parts.arrays import DRAWS, Floats, orders_of, sizes_at
from maestro_env.mappers.parts.operators import mutate, uniform_crossover, unseen
from maestro_env.mapspace.space import Parameter, Points, Space

SURROGATES: Mapping[str, Callable[[BayesianConfig, np.random.Generator], Surrogate]] = {
    "forest": lambda config, rng: Forest(config.trees, rng),
    "gp": lambda config, rng: GaussianProcess(),
}
"""Surrogates by name."""


@dataclass(frozen=True)
class BayesianConfig:
    """Parameters of Bayesian optimisation."""

    initial: int = setting(30, "random samples before the first fit", least=1, most=100_000)
    batch: int = setting(50, "samples suggested at a time, at most", least=1, most=100_000)
    share: float = setting(0.1, "samples suggested at a time, of those so far", most=1)
    penalty: float = setting(0.2, "decades that ten times the violation costs", most=100)
    surrogate: str = setting("forest", "regression that predicts objectives", allowed=SURROGATES)
    trees: int = setting(10, "trees of a forest", least=2, most=1000)
    growth: float = setting(1.25, "samples of a fit relative to the last", least=1, most=1000)
    candidates: int = setting(500, "random candidates of a batch", least=1, most=100_000)
    local: int = setting(2000, "candidates of a batch bred from the best points", most=100_000)
    parents: int = setting(100, "best points that may be parents", least=1, most=100_000)
    crossover_rate: float = setting(0.5, "chance that an offspring mixes two parents", most=1)
    mutation_rate: float = setting(0.2, "chance per parameter of a change; one at least", most=1)
    step_rate: float = setting(0.5, "share of size changes that are small steps", most=1)
    draw: str = setting("log", "distribution of random points", allowed=DRAWS)


class BayesianMapper(AskMapper[BayesianConfig]):
    """Proposes the candidates with the largest expected improvement of the log objective.

    Candidates are random points and offspring of the best points. An invalid point counts as worse
    than all valid ones, the more so the larger its violation. As fits take longer with more
    samples, they become rarer; between fits only the candidates follow new samples.
    """

    DEFAULT = BayesianConfig()

    def start(self, space: Space, rng: np.random.Generator) -> None:
        super().start(space, rng)
        self._draw = DRAWS[self.config.draw]
        self._surrogate = SURROGATES[self.config.surrogate](self.config, rng)
        self._seen: set[int] = set()
        self._refit_at = 0
        self._points: Points = np.empty((0, len(space.sizes)), dtype=np.int32)
        self._logs, self._violations = np.empty(0), np.empty(0)

    def ask(self, n: int) -> Points:
        config, samples = self.config, len(self._points)
        if samples < config.initial:
            random = self._draw(self._space, config.initial - samples, self._rng)
            return unseen(random, self._seen, self._space)[:n]
        targets = self._targets()
        if samples >= self._refit_at:
            self._surrogate.fit(features(self._space, self._points), targets)
            self._refit_at = math.ceil(samples * config.growth)
        best = self._points[np.argsort(targets, kind="stable")[: config.parents]]
        candidates = unseen(self._candidates(best), self._seen, self._space)
        mean, std = self._surrogate.predict(features(self._space, candidates))
        gains = expected_improvement(mean, std, targets.min())
        best_first = np.lexsort((mean, -gains))
        batch = max(1, min(n, config.batch, round(config.share * samples)))
        return candidates[best_first[:batch]]

    def learn(self, points: Points, evaluator: Evaluator) -> None:
        batch, violations = evaluator.constrain(points)
        logs = np.log10(batch.values)
        if np.isfinite(logs).any() and not np.isfinite(self._logs).any():
            self._refit_at = 0  # The targets of all others change.
        self._seen.update(self._space.identities(points).tolist())
        self._points = np.concatenate([self._points, points])
        self._logs = np.concatenate([self._logs, logs])
        self._violations = np.concatenate([self._violations, violations])

    def _targets(self) -> Floats:
        """Return what is modelled of every sample: decades of objective, of penalty if invalid.

        The least violation counts as much as the worst valid sample. With a larger value, the
        model's uncertainty about validity would count as a possible gain and attract the search.
        """
        valid = np.isfinite(self._logs)
        worst = self._logs.max(where=valid, initial=-np.inf) if valid.any() else 0.0
        penalties = self.config.penalty * np.log10(1 + self._violations)
        return np.where(valid, self._logs, worst + penalties)

    def _candidates(self, best: Points) -> Points:
        config = self.config
        if self._space.size() <= config.candidates + config.local:
            every = np.unravel_index(np.arange(self._space.size()), self._space.sizes)
            return np.stack(every, axis=1).astype(np.int32)
        random = self._draw(self._space, config.candidates, self._rng)
        fresh = self._draw(self._space, config.local, self._rng)
        mothers, fathers = (
            best[self._rng.integers(len(best), size=config.local)] for _ in range(2)
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


Features = NDArray[np.float32]

# A Gaussian process takes n^3 operations: it is fitted to this many of the best and of the latest.
_KEPT = 200
# Noise as a share of the variance of the targets: it also keeps rounding from negative variances.
_NOISE = 1e-4
# A column with a smaller deviation is constant except for rounding.
_CONSTANT = 1e-6


def features(space: Space, points: Points) -> Features:
    """Describe int32[N, D] points by float32[N, F].

    A size has one column, its base-2 logarithm; an order one per dimension, its place in the order
    from 0, the outermost; a parallel dimension one per choice, 1 for the chosen one.
    """
    described = zip(space.parameters, points.T, strict=True)
    columns = [
        _columns(parameter, choices, len(space.ordered(parameter.name)))
        for parameter, choices in described
    ]
    return np.concatenate(columns, axis=1, dtype=np.float32)


def _columns(parameter: Parameter, choices: NDArray[np.int32], dims: int) -> Features:
    if parameter.kind == "order":
        return np.argsort(orders_of(choices, dims), axis=1).astype(np.float32)
    if parameter.is_size:
        return np.log2(sizes_at(parameter, choices), dtype=np.float32)[:, np.newaxis]
    return np.eye(parameter.choices, dtype=np.float32)[choices]


class Surrogate(Protocol):
    """A regression with uncertainty."""

    def fit(self, features: Features, targets: Floats) -> None:
        """Learn targets, float64[N], of float32[N, F] features, in the order of evaluation."""

    def predict(self, features: Features) -> tuple[Floats, Floats]:
        """Return mean and standard deviation, float64[N] each, at float32[N, F] features."""


class Forest:
    """A random forest; the disagreement of its trees is the uncertainty.

    Args:
        trees: how many.
        rng: seeds every fit.
    """

    def __init__(self, trees: int, rng: np.random.Generator) -> None:
        self._trees = trees
        self._rng = rng

    def fit(self, features: Features, targets: Floats) -> None:
        seed = int(self._rng.integers(2**31))
        self.forest = RandomForestRegressor(self._trees, random_state=seed).fit(features, targets)

    def predict(self, features: Features) -> tuple[Floats, Floats]:
        # Call the trees directly: the forest's predict has a large fixed cost.
        means = np.array([tree.tree_.predict(features)[:, 0] for tree in self.forest.estimators_])
        return means.mean(axis=0), means.std(axis=0)


class GaussianProcess:
    """A Gaussian process with a fixed kernel on standardised features, for small budgets."""

    def __init__(self) -> None:
        # Sums over several threads round differently, which would change the search.
        self._blas = ThreadpoolController()

    def fit(self, features: Features, targets: Floats) -> None:
        # All points set the scale: among the best and the latest, many columns may be constant.
        self._mean = features.mean(axis=0, dtype=np.float64)
        spread = features.std(axis=0, dtype=np.float64)
        self._spread = np.where(spread > _CONSTANT, spread, 1)
        best = np.argsort(targets, kind="stable")[:_KEPT]
        latest = np.arange(max(0, len(targets) - _KEPT), len(targets))
        kept = np.union1d(best, latest)
        # Fitting the length scale is slow and may not converge. This is a typical distance.
        kernel = Matern(length_scale=math.sqrt(features.shape[1]), nu=2.5)
        self._process = GaussianProcessRegressor(
            kernel, alpha=_NOISE, optimizer=None, normalize_y=True
        )
        with self._blas.limit(limits=1):
            self._process.fit(self._scaled(features[kept]), targets[kept])

    def predict(self, features: Features) -> tuple[Floats, Floats]:
        with self._blas.limit(limits=1):
            mean, std = self._process.predict(self._scaled(features), return_std=True)
        return mean, std

    def _scaled(self, features: Features) -> Floats:
        scaled: Floats = (features - self._mean) / self._spread
        return scaled
