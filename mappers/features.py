"""Features of points for regressions: similar points have similar numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maestro_env.map_space import MapSpace, Parameter, Points
from mappers.orders import orders_of
from mappers.sizes import sizes_at, sizes_of

Features = NDArray[np.float32]


def features(space: MapSpace, points: Points) -> Features:
    """Describe int32[N, D] points by float32[N, F].

    A size has one column, its base-2 logarithm; an order one per dimension, its place in the order
    from 0, the outermost; a parallel dimension one per choice, 1 for the chosen one.
    """
    described, dims = zip(space.parameters, points.T, strict=True), len(space.extents)
    columns = [_columns(parameter, choices, dims) for parameter, choices in described]
    return np.concatenate(columns, axis=1, dtype=np.float32)


def _columns(parameter: Parameter, choices: NDArray[np.int32], dims: int) -> NDArray[np.float32]:
    if parameter.kind == "order":
        return _positions(choices, dims)
    if parameter.is_size:
        return _log_sizes(parameter, choices)[:, np.newaxis]
    return np.eye(parameter.choices, dtype=np.float32)[choices]


def _log_sizes(parameter: Parameter, choices: NDArray[np.int32]) -> NDArray[np.float32]:
    return np.log2(sizes_at(sizes_of(parameter), choices), dtype=np.float32)


def _positions(ranks: NDArray[np.int32], dims: int) -> NDArray[np.float32]:
    """Return the place of each dimension in the orders of these ranks, float32[N, dims]."""
    return np.argsort(orders_of(ranks, dims), axis=1).astype(np.float32)
