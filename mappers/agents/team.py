"""The interface of a team of agents: draw actions, learn from the shared reward."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from maestro_env.episode import Observations
from mappers.agents.heads import Floats, Integers

MOST_CHANGE = 20.0
"""Largest logarithm of a ratio: ratios that PPO does not clip would overflow beyond it."""


@dataclass(frozen=True)
class Learning:
    """How every agent learns.

    Args:
        epochs: gradient steps of an update.
        rate: learning rate of Adam.
        clip: PPO's bound on how far the probability ratio of an agent's action moves from 1.
        entropy: weight of the entropy bonus.
        imitation: weight of the pull towards the best samples.
    """

    epochs: int
    rate: float
    clip: float
    entropy: float
    imitation: float


class Agents(Protocol):
    """All agents of a search, each with its own heads, weights and optimiser.

    An agent's policy is the product of its heads. No agent's computation depends on the weights or
    actions of another. For speed, arrays and tensors hold all agents; every operation on them is
    elementwise, within a head, or within an agent.
    """

    def draw(self, uniform: Floats, observations: Observations) -> Integers:
        """Draw actions by inverting every head's distribution function.

        Args:
            uniform: float64[N, D] in [0, 1), one number per action.
            observations: float32[N, 4], shared by all agents.

        Returns:
            int64[N, D], indices of logits within their heads.
        """

    def learn(self, actions: Integers, rewards: Floats, best: Integers) -> None:
        """Update every agent from the shared reward of the joint actions.

        Every epoch ascends, for each agent, PPO's clipped surrogate (Schulman et al., 2017,
        equation 7) over the batch, plus the entropy of its heads and the log-likelihood of its
        part of the best samples (self-imitation after Oh et al., 2018), each with its weight.

        Args:
            actions: int64[N, D], the last drawn ones; exploration may have changed some.
            rewards: float64[N].
            best: int64[E, D], actions of the best samples so far; E may be 0.
        """


def normalised(advantages: Floats) -> Floats:
    """Return advantages float64[N, ...] with mean 0 and deviation 1 over the batch."""
    centred: Floats = advantages - advantages.mean(axis=0)
    centred /= np.sqrt((centred * centred).mean(axis=0)) + 1e-8
    return centred
