"""What every team of agents does: draw actions and learn from the shared reward."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from maestro_env.episode import Observations
from mappers.agents.heads import Floats, Integers

MOST_CHANGE = 20.0
"""Logarithm of a ratio at most: beyond it, what PPO does not clip would grow past all numbers."""


@dataclass(frozen=True)
class Learning:
    """How an agent learns; alike for all.

    Args:
        epochs: gradient steps an update makes.
        rate: of Adam.
        clip: of the ratio of new to old probability of an agent's action.
        entropy: weight of the entropy bonus.
        imitation: weight of the pull towards the best samples.
    """

    epochs: int
    rate: float
    clip: float
    entropy: float
    imitation: float


class Agents(Protocol):
    """All agents of a search side by side, each with its own heads, weights and optimiser.

    An agent's policy is the product of its heads. Nothing an agent computes depends on another's
    weights or actions: arrays and tensors hold all agents to be fast, and every operation on them
    is elementwise, or within a head, or within an agent.
    """

    def draw(self, uniform: Floats, observations: Observations) -> Integers:
        """Draw actions by inverting every head's distribution function.

        Args:
            uniform: float64[N, D] in [0, 1), one number an action.
            observations: float32[N, 4], shared by all agents.

        Returns:
            int64[N, D], indices of logits within their heads.
        """

    def learn(self, actions: Integers, rewards: Floats, best: Integers) -> None:
        """Update every agent from the shared reward of what all agents did.

        Every epoch ascends, for each agent, PPO's clipped surrogate (Schulman et al., 2017,
        equation 7) over the batch, plus the entropy of its heads and the log-likelihood of its
        part of the best samples (self-imitation after Oh et al., 2018), each with its weight.

        Args:
            actions: int64[N, D], what was drawn last, some perhaps changed since.
            rewards: float64[N].
            best: int64[E, D], actions of the best samples so far; E may be 0.
        """


def normalised(advantages: Floats) -> Floats:
    """Return advantages float64[N, ...] with mean 0 and deviation 1 over the batch."""
    spread: Floats = (advantages - advantages.mean(axis=0)) / (advantages.std(axis=0) + 1e-8)
    return spread
