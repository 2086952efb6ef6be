"""Moves off the policies: random choices, steps of sizes, and variants of the best samples."""

from __future__ import annotations

import numpy as np

from maestro_env.mappers.agents.team import Heads
from maestro_env.mappers.parts.arrays import Floats, Integers

# A step of a size is 2^-5 octaves at least, which moves most sizes by one choice, and one octave, a
# factor of two, at most. These are base-2 logarithms.
_LEAST_LOG, _MOST_LOG = -5.0, 0.0

# Chance of a step if a single size of a variant changes.
_STEP_SHARE = 0.7


def explore(
    actions: Integers, heads: Heads, chance: float, local: float, rng: np.random.Generator
) -> Integers:
    """Replace each of int64[N, D] actions with a chance of its own, so that all stay reachable.

    With chance ``local`` a replaced size moves by a step; all other replacements are uniform.
    """
    shape = actions.shape
    replaced = rng.random(shape) < chance
    moves = heads.are_sizes & (rng.random(shape) < local)
    octaves = _steps(shape, rng)
    explored = np.where(replaced, rng.integers(0, heads.counts, size=shape), actions)
    moved = np.nonzero(replaced & moves)
    explored[moved] = heads.scaled(actions[moved], moved[1], octaves[moved])
    return explored


def refine(
    best: Integers, drawn: Integers, heads: Heads, pairs: float, rng: np.random.Generator
) -> Integers:
    """Return a variant of one of the best samples for each drawn sample, int64[N, D].

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
    """
    n, rows = len(drawn), np.arange(len(drawn))
    ranks = rng.integers(len(best), size=(2, n)).min(axis=0)
    variants: Integers = best[ranks]
    octaves = _steps(n, rng)
    first, second = _two_sizes(heads, n, rng)
    two = rng.random(n) < pairs
    one = np.where(two, first, rng.integers(variants.shape[1], size=n))
    moves = two | (heads.are_sizes[one] & (rng.random(n) < _STEP_SHARE))
    # One call for both: the parameters of a pair differ, so neither step depends on the other.
    pair = np.stack([one, second])
    octaves = np.stack([octaves, octaves * _signs(n, rng)])
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


def _steps(shape: int | tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Draw steps of sizes in octaves, up or down, log-uniform in length."""
    lengths = np.exp2(rng.uniform(_LEAST_LOG, _MOST_LOG, size=shape))
    return lengths * _signs(shape, rng)


def _signs(shape: int | tuple[int, ...], rng: np.random.Generator) -> Integers:
    """Draw -1 or 1 with equal chance."""
    return 2 * rng.integers(0, 2, size=shape) - 1
