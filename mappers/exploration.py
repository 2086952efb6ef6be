"""Actions off the policy, so that nothing is ruled out for good."""

from __future__ import annotations

import numpy as np

from mappers.heads import Heads, Integers

# The largest small step is this share of a head's choices.
_STEP_SHARE = 16


def explore(
    actions: Integers, heads: Heads, chance: float, local: float, rng: np.random.Generator
) -> Integers:
    """Replace some actions, each independently of all others.

    Args:
        actions: int64[N, D], drawn from the policies.
        heads: they are actions of.
        chance: that an action is replaced.
        local: chance that a size that is replaced moves a few choices up or down, instead of
            being drawn uniformly as everything else is.
        rng: the only source of randomness.
    """
    shape, counts = actions.shape, heads.counts
    replaced = rng.random(shape) < chance
    moves = heads.are_sizes & (rng.random(shape) < local)
    widest = np.maximum(1, counts // _STEP_SHARE)
    by = rng.integers(1, widest + 1, size=shape) * rng.choice((-1, 1), size=shape)
    moved = (actions + by).clip(0, counts - 1)
    other = np.where(moves, moved, rng.integers(0, counts, size=shape))
    return np.where(replaced, other, actions)
