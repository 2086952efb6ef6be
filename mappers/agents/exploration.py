"""Actions off the policy, so that nothing is ruled out for good."""

from __future__ import annotations

import numpy as np

from mappers.agents.heads import Floats, Heads, Integers

# How far a size moves, in octaves: from too little to see, which is one choice, to a factor of two.
_LEAST_STEP, _MOST_STEP = 2.0**-5, 2.0**0


def explore(
    actions: Integers, heads: Heads, chance: float, local: float, rng: np.random.Generator
) -> Integers:
    """Replace some actions, each independently of all others.

    Args:
        actions: int64[N, D], drawn from the policies.
        heads: they are actions of.
        chance: that an action is replaced.
        local: chance that a size that is replaced moves by a step, instead of being drawn
            uniformly as everything else is.
        rng: the only source of randomness.
    """
    shape = actions.shape
    replaced = rng.random(shape) < chance
    moves = heads.are_sizes & (rng.random(shape) < local)
    other = np.where(
        moves,
        heads.scaled(actions, np.arange(shape[1]), steps(shape, rng)),
        rng.integers(0, heads.counts, size=shape),
    )
    return np.where(replaced, other, actions)


def steps(shape: int | tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Draw steps of sizes in octaves, up or down, small ones as likely as large ones."""
    lengths = np.exp2(rng.uniform(np.log2(_LEAST_STEP), np.log2(_MOST_STEP), size=shape))
    drawn: Floats = lengths * rng.choice((-1, 1), size=shape)
    return drawn
