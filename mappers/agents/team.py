"""What all teams of agents have in common: they draw actions and learn from the shared reward."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from maestro_env.evaluation.rewards import Observations
from maestro_env.mappers.agents.config import MarlConfig
from maestro_env.mappers.agents.heads import Heads
from maestro_env.mappers.parts.arrays import Floats, Integers

MOST_CHANGE = 20.0
"""Largest logarithm of a ratio: ratios that PPO does not clip would overflow beyond it."""


class Agents(ABC):
    """All agents of a search, each with its own heads, weights and optimiser.

    An agent's policy is the product of its heads. No agent's computation depends on the weights or
    actions of another. For speed, arrays and tensors hold all agents; every operation on them is
    elementwise, within a head, or within an agent.

    Args:
        heads: of all parameters.
        agents: int64[D], the agent that owns each parameter, from 0 on.
        config: how every agent learns.
        bias: float64[L], the start of the logits.
    """

    def __init__(self, heads: Heads, agents: Integers, config: MarlConfig, bias: Floats) -> None:
        self._heads = heads
        self._agents = agents
        self._config = config
        self._bias = bias

    @abstractmethod
    def draw(self, uniform: Floats, observations: Observations) -> Integers:
        """Draw actions by inverting every head's distribution function.

        Args:
            uniform: float64[N, D] in [0, 1), one number per action.
            observations: float32[N, 4], shared by all agents.

        Returns:
            int64[N, D], indices of logits within their heads.
        """

    @abstractmethod
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

    def _imitated(self, best: Integers) -> Floats | None:
        """Return how often each choice is among the best samples, float64[L]; None if unwanted."""
        if not len(best) or not self._config.imitation:
            return None
        taken = (best + self._heads.starts).ravel()
        return np.bincount(taken, minlength=len(self._heads.owner)) / len(best)


def normalised(advantages: Floats) -> Floats:
    """Return advantages float64[N, ...] with mean 0 and deviation 1 over the batch."""
    centred: Floats = advantages - advantages.mean(axis=0)
    centred /= np.sqrt((centred * centred).mean(axis=0)) + 1e-8
    return centred
