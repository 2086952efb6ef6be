"""Which weights of matrices exist: random ones, so many of each as in Erdos-Renyi graphs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maestro_env.base.errors import MaestroEnvError
from maestro_env.mappers.parts.arrays import Booleans, Floats, Integers


class SparsityError(MaestroEnvError, ValueError):
    """A density or a share of weights that is not allowed."""


def link_counts(shapes: Sequence[tuple[int, int]], density: float) -> list[int]:
    """Return how many weights of each matrix exist; together round(density * all weights).

    They are in proportion to inputs + outputs, but at most all of a matrix: wide matrices are the
    sparsest (Mocanu et al., 2018).

    Raises:
        SparsityError: a density that is not above 0 and at most 1.
    """
    if not 0 < density <= 1:
        raise SparsityError(f"density is {density}; allowed: above 0, at most 1")
    sizes = np.array([inputs * outputs for inputs, outputs in shapes])
    total = round(density * int(sizes.sum()))
    exact = _shares(total, sizes, np.array([sum(shape) for shape in shapes]))
    counts = np.floor(exact).astype(np.int64)
    # Those that lose most by rounding get what is left.
    most = np.argsort(counts - exact, kind="stable")[: total - counts.sum()]
    counts[most] += 1
    found: list[int] = counts.tolist()
    return found


def random_mask(shape: tuple[int, int], count: int, rng: np.random.Generator) -> Booleans:
    """Return where so many weights exist, bool of a shape; all are equally likely."""
    mask = np.zeros(shape[0] * shape[1], dtype=bool)
    mask[rng.choice(len(mask), count, replace=False)] = True
    return mask.reshape(shape)


def _shares(total: int, sizes: Integers, weights: Integers) -> Floats:
    """Return shares of a total in proportion to weights, none above its size."""
    shares = sizes.astype(np.float64)
    free = np.ones(len(sizes), dtype=bool)
    while free.any():
        # What the full ones leave.
        left = total - sizes[~free].sum()
        shares[free] = left * weights[free] / weights[free].sum()
        full = free & (shares >= sizes)
        if not full.any():
            break
        shares[full] = sizes[full]
        free &= ~full
    return shares
