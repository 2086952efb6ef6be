"""Variants of the best samples, with joint steps of two sizes."""

from __future__ import annotations

import numpy as np

from mappers.agents.exploration import signs, steps
from mappers.agents.heads import Heads, Integers

# Chance of a step if a single size changes.
_STEP_SHARE = 0.7


def refine(
    best: Integers, drawn: Integers, heads: Heads, pairs: float, rng: np.random.Generator
) -> Integers:
    """Return a variant of one of the best samples for each drawn sample.

    A variant copies a remembered sample but for one or two parameters. If two change, both are
    sizes and change by the same factor, in the same or in opposite directions: where a buffer is
    full, one tile can grow only if another shrinks. If one changes, it takes the drawn choice or,
    a size, perhaps a step. The agents share these random numbers from the start (which sample,
    which parameters, how far), so they exchange nothing.

    Args:
        best: int64[E, D], E of at least 1, the best first.
        drawn: int64[N, D], from the policies.
        heads: of the actions.
        pairs: chance that two parameters change.
        rng: the shared random numbers.

    Returns:
        int64[N, D].
    """
    n, rows = len(drawn), np.arange(len(drawn))
    ranks = rng.integers(len(best), size=(2, n)).min(axis=0)
    variants: Integers = best[ranks]
    octaves = steps(n, rng)
    first, second = _two_sizes(heads, n, rng)
    two = rng.random(n) < pairs
    one = np.where(two, first, rng.integers(variants.shape[1], size=n))
    moves = two | (heads.are_sizes[one] & (rng.random(n) < _STEP_SHARE))
    # One call for both: the parameters of a pair differ, so neither step depends on the other.
    pair = np.stack([one, second])
    octaves = np.stack([octaves, octaves * signs(n, rng)])
    moved = heads.scaled(variants[rows, pair], pair, octaves)
    variants[rows, one] = np.where(moves, moved[0], drawn[rows, one])
    variants[rows, second] = np.where(two, moved[1], variants[rows, second])
    return variants


def _two_sizes(heads: Heads, n: int, rng: np.random.Generator) -> tuple[Integers, Integers]:
    """Draw n pairs of different parameters that are sizes."""
    sizes = heads.sizes
    first = rng.integers(len(sizes), size=n)
    others = rng.integers(1, len(sizes), size=n)
    return sizes[first], sizes[(first + others) % len(sizes)]
