"""Moves off the policies: random choices, steps of sizes, and variants of the best samples."""

from __future__ import annotations

import numpy as np

from maestro_env.mappers.agents.team import Heads
from maestro_env.mappers.parts.arrays import Integers


def explore(
    actions: Integers, heads: Heads, chance: float, local: float, rng: np.random.Generator
) -> Integers:
    """Replace each of int64[N, D] actions with a chance of its own, so that all stay reachable.

    With chance ``local`` a replaced size moves by a step; all other replacements are uniform.
    """
    bits = rng.bit_generator.capsule
    explored: Integers = heads.native.explore(actions, chance, local, bits)
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

    Raises:
        ValueError: fewer than two parameters are sizes.
    """
    variants: Integers = heads.native.refine(best, drawn, pairs, rng.bit_generator.capsule)
    return variants
