"""Actions off the policy, so that every choice stays reachable."""

from __future__ import annotations

import numpy as np

from mappers.agents.heads import Floats, Heads, Integers

# A step of a size is 2^-5 octaves at least, which moves most sizes by one choice, and one octave, a
# factor of two, at most. These are base-2 logarithms.
_LEAST_LOG, _MOST_LOG = -5.0, 0.0


def explore(
    actions: Integers, heads: Heads, chance: float, local: float, rng: np.random.Generator
) -> Integers:
    """Replace some actions at random, each independently of all others.

    Args:
        actions: int64[N, D], drawn from the policies.
        heads: of the actions.
        chance: that an action is replaced.
        local: chance that a replaced size moves by a step; all other replacements are uniform.
        rng: the only source of randomness.
    """
    shape = actions.shape
    replaced = rng.random(shape) < chance
    moves = heads.are_sizes & (rng.random(shape) < local)
    octaves = steps(shape, rng)
    explored = np.where(replaced, rng.integers(0, heads.counts, size=shape), actions)
    moved = np.nonzero(replaced & moves)
    explored[moved] = heads.scaled(actions[moved], moved[1], octaves[moved])
    return explored


def steps(shape: int | tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Draw steps of sizes in octaves, up or down, log-uniform in length."""
    lengths = np.exp2(rng.uniform(_LEAST_LOG, _MOST_LOG, size=shape))
    drawn: Floats = lengths * signs(shape, rng)
    return drawn


def signs(shape: int | tuple[int, ...], rng: np.random.Generator) -> Integers:
    """Draw -1 or 1 with equal chance."""
    return 2 * rng.integers(0, 2, size=shape) - 1
