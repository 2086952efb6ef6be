"""Variants of the best samples: small joint steps that independent draws seldom make."""

from __future__ import annotations

import numpy as np

from mappers.agents.exploration import steps
from mappers.agents.heads import Heads, Integers

# Of single changes to a size.
_STEP_SHARE = 0.7


def refine(
    best: Integers, drawn: Integers, heads: Heads, pairs: float, rng: np.random.Generator
) -> Integers:
    """Return a variant of a good sample for each drawn one.

    Every agent plays its part of the same remembered sample, but for one or two of them. Where two
    are to move, both their sizes change by the same factor, in the same direction or in opposite
    ones: where a buffer is full, one tile can grow only if another one shrinks. Else one changes,
    to what it drew or, a size, by a step. Which sample, whose turn it is and how far to go are
    random numbers that the agents have in common from the start, so that nothing passes between
    them.

    Args:
        best: int64[E, D], E of at least 1, the best one first.
        drawn: int64[N, D], from the policies.
        heads: the actions belong to.
        pairs: chance that two move.
        rng: draws the numbers in common.

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
    moved = heads.scaled(variants[rows, one], one, octaves)
    variants[rows, one] = np.where(moves, moved, drawn[rows, one])
    octaves *= rng.choice((-1, 1), size=n)
    moved = heads.scaled(variants[rows, second], second, octaves)
    variants[rows, second] = np.where(two, moved, variants[rows, second])
    return variants


def _two_sizes(heads: Heads, n: int, rng: np.random.Generator) -> tuple[Integers, Integers]:
    """Draw n pairs of different parameters that are sizes."""
    sizes: Integers = np.flatnonzero(heads.are_sizes)
    first = rng.integers(len(sizes), size=n)
    others = rng.integers(1, len(sizes), size=n)
    second = (first + others) % len(sizes)
    return sizes[first].astype(np.int64), sizes[second].astype(np.int64)
