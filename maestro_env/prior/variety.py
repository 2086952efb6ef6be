"""An order of proposals in which those that come first differ from each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maestro_env.mapspace.space import MapSpace, Points

# What one part in common with a mapping ahead costs, in logarithms of probabilities.
_COMMON = 2.0
# So many places are chosen one after the other, which takes time.
_PLACES = 256


def varied(space: MapSpace, points: Points, logarithms: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return an order of mappings: the first, then always the one that is likeliest by now.

    A mapping becomes less likely with every part that it has in common with one ahead of it. A
    policy that is wrong about one part, such as the parallel loops, is wrong about it in all of its
    likeliest mappings.

    Args:
        space: of the mappings.
        points: int32[N, D], none twice.
        logarithms: of the probabilities with which a policy proposes them, float[N].

    Returns:
        Rows of ``points``, int64[N].
    """
    parts = _parts(space, points)
    left = logarithms.astype(np.float64)
    left[:1] = np.inf
    order = []
    for _ in range(min(_PLACES, len(points))):
        chosen = left.argmax()
        order.append(chosen)
        left -= _COMMON * (parts == parts[:, chosen, np.newaxis]).sum(axis=0)
        left[chosen] = -np.inf
    rest = np.argsort(-left, kind="stable")[: len(points) - len(order)]
    return np.concatenate([order, rest]).astype(np.int64)


def _parts(space: MapSpace, points: Points) -> NDArray[np.int64]:
    """Number the parallel loops, orders, L2 tiles and L1 tiles of int32[N, D]: int64[4, N]."""
    columns: dict[tuple[str, str], list[int]] = {}
    for name, column in space.columns.items():
        kind = space.parameter(name).kind
        level = name[:2] if kind == "tile" else ""
        columns.setdefault((kind, level), []).append(column)
    columns.pop(("cluster", ""), None)
    numbers = [
        np.unique(points[:, each], axis=0, return_inverse=True)[1] for each in columns.values()
    ]
    return np.stack(numbers).reshape(len(numbers), len(points))
