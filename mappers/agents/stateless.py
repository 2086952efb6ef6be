"""PPO agents without a network: what an agent knows of a choice is the choice's logit."""

from __future__ import annotations

import numpy as np

from maestro_env.episode import Observations
from mappers.agents.heads import Floats, Heads, Integers
from mappers.agents.team import MOST_CHANGE, Learning, normalised


class Adam:
    """Adam (Kingma and Ba, 2015) with its usual constants, upwards; elementwise."""

    def __init__(self, size: int, rate: float) -> None:
        self.weights: Floats = np.zeros(size)
        self._rate = rate
        self._mean: Floats = np.zeros(size)
        self._square: Floats = np.zeros(size)
        self._steps = 0

    def ascend(self, gradient: Floats) -> None:
        """Take a step along a gradient."""
        self._steps += 1
        self._mean += 0.1 * (gradient - self._mean)
        self._square += 0.001 * (gradient**2 - self._square)
        mean = self._mean / (1 - 0.9**self._steps)
        square = self._square / (1 - 0.999**self._steps)
        self.weights += self._rate * mean / (np.sqrt(square) + 1e-8)


class StatelessAgents:
    """Agents (``Agents``) that do not look: the best mapping is the same whatever the last one did.

    The logit of a choice is a fixed start, a weight of its own, and the weights of what it has in
    common with other choices (``Heads.features``).

    Args:
        heads: of all parameters.
        agents: int64[D], the agent that owns each parameter, from 0 on.
        learning: of every agent.
        bias: float64[L], what logits begin with; None for the heads' own.
    """

    def __init__(
        self, heads: Heads, agents: Integers, learning: Learning, bias: Floats | None = None
    ) -> None:
        self._heads = heads
        self._bias = heads.bias if bias is None else bias
        self._learning = learning
        self._agents = agents
        # Whether a head is an agent's, [D, B]: sums over an agent's heads are products with it.
        self._owns = (agents[:, np.newaxis] == np.arange(agents.max() + 1)).astype(np.float64)
        self._common = heads.features.T.tocsr()
        self._optimiser = Adam(len(heads.bias) + heads.features.shape[1], learning.rate)

    def draw(self, uniform: Floats, observations: Observations) -> Integers:
        policies = np.split(np.exp(self._log_probabilities()), self._heads.starts[1:])
        columns = zip(policies, uniform.T, strict=True)
        return np.stack([_invert(policy, u) for policy, u in columns], axis=1)

    def learn(self, actions: Integers, rewards: Floats, best: Integers) -> None:
        advantages = normalised(rewards)
        logits = actions + self._heads.starts
        imitated = self._frequencies(best)
        before = None
        for _ in range(self._learning.epochs):
            log_probabilities = self._log_probabilities()
            now = log_probabilities[logits] @ self._owns
            before = now if before is None else before
            gradient = self._surrogate(logits, advantages, now - before, log_probabilities)
            gradient += self._bonuses(log_probabilities, imitated)
            self._optimiser.ascend(np.concatenate([gradient, self._common @ gradient]))

    def _log_probabilities(self) -> Floats:
        """Return the logarithm of every choice's probability within its head, float64[L]."""
        heads = self._heads
        own, common = np.split(self._optimiser.weights, [len(self._bias)])
        logits = self._bias + own + heads.features @ common
        logits -= np.maximum.reduceat(logits, heads.starts)[heads.owner]
        sums = np.add.reduceat(np.exp(logits), heads.starts)
        log_probabilities: Floats = logits - np.log(sums)[heads.owner]
        return log_probabilities

    def _surrogate(
        self, logits: Integers, advantages: Floats, change: Floats, log_probabilities: Floats
    ) -> Floats:
        """Return the gradient of the clipped surrogate with respect to the logits, float64[L].

        Args:
            logits: int64[N, D], of the actions.
            advantages: float64[N].
            change: float64[N, B], logarithm of every agent's ratio.
            log_probabilities: float64[L].
        """
        ratio = np.exp(np.minimum(change, MOST_CHANGE))
        advantage = advantages[:, np.newaxis]
        clip = self._learning.clip
        free = np.where(advantage >= 0, ratio < 1 + clip, ratio > 1 - clip)
        pull = (advantage * ratio * free / len(logits))[:, self._agents]
        drawn = np.bincount(logits.ravel(), pull.ravel(), len(log_probabilities))
        expected = np.exp(log_probabilities) * pull.sum(axis=0)[self._heads.owner]
        gradient: Floats = drawn - expected
        return gradient

    def _bonuses(self, log_probabilities: Floats, imitated: Floats | None) -> Floats:
        """Return the gradient of entropy and imitation with respect to the logits, float64[L]."""
        heads, learning = self._heads, self._learning
        probabilities = np.exp(log_probabilities)
        surprise = probabilities * log_probabilities
        entropy = -np.add.reduceat(surprise, heads.starts)
        gradient: Floats = -learning.entropy * (surprise + probabilities * entropy[heads.owner])
        if imitated is not None:
            gradient += learning.imitation * (imitated - probabilities)
        return gradient

    def _frequencies(self, best: Integers) -> Floats | None:
        """Return how often each choice is among the best samples, float64[L]; None without any."""
        if not len(best):
            return None
        taken = (best + self._heads.starts).ravel()
        return np.bincount(taken, minlength=len(self._heads.bias)) / len(best)


def _invert(probabilities: Floats, uniform: Floats) -> Integers:
    """Return the first choice at which the cumulated probability exceeds a uniform number, [N]."""
    cumulated = np.cumsum(probabilities)
    found: Integers = np.searchsorted(cumulated, uniform * cumulated[-1], side="right")
    # Rounding may step over the last one.
    return found.clip(0, len(probabilities) - 1)
