"""Regressions with uncertainty, which Bayesian optimisation uses in place of the cost model.

They read features of points: similar points have similar numbers.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern
from threadpoolctl import ThreadpoolController

from maestro_env.mappers.parts.arrays import Floats, orders_of, sizes_at
from maestro_env.mapspace.parameter import Parameter
from maestro_env.mapspace.space import Points, Space

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
