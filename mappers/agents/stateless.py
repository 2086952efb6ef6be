"""PPO agents that the core computes: a logit for each choice, or a network for each agent."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maestro_env.base.perceptrons import team
from maestro_env.evaluation.rewards import Observations
from maestro_env.mappers.agents.team import MOST_CHANGE, Agents, Heads, MarlConfig, normalised
from maestro_env.mappers.parts.arrays import Floats, Integers


class Adam:
    """Adam (Kingma and Ba, 2015) with its usual constants, ascending."""

    def __init__(self, size: int, rate: float) -> None:
        self.weights: Floats = np.zeros(size)
        self._rate = rate
        self._mean: Floats = np.zeros(size)
        self._square: Floats = np.zeros(size)
        self._steps = 0

    def ascend(self, gradient: Floats) -> None:
        """Take a step along a gradient."""
        self._steps += 1
        change = gradient - self._mean
        change *= 0.1
        self._mean += change
        np.multiply(gradient, gradient, out=change)
        change -= self._square
        change *= 0.001
        self._square += change
        step = self._mean / (1 - 0.9**self._steps)
        step *= self._rate
        np.divide(self._square, 1 - 0.999**self._steps, out=change)
        np.sqrt(change, out=change)
        change += 1e-8
        step /= change
        self.weights += step


class StatelessAgents(Agents):
    """Agents without observations: the best mapping does not depend on the last one.

    The logit of a choice is the sum of a fixed start, its own weight, and the weights of the
    features it shares with other choices (``Heads.features``).
    """

    def __init__(self, heads: Heads, agents: Integers, config: MarlConfig, bias: Floats) -> None:
        super().__init__(heads, agents, config, bias)
        # 1 where an agent owns a head, [D, B]: the product with it sums over the heads of an agent.
        self._owns = (agents[:, np.newaxis] == np.arange(agents.max() + 1)).astype(np.float64)
        self._optimiser = Adam(len(heads.bias) + heads.features.shape[1], config.rate)
        self._drawn_from: Floats = np.empty(0)

    def draw(self, uniform: Floats, observations: Observations) -> Integers:
        self._drawn_from = self._log_probabilities()
        return self._heads.inverted(np.exp(self._drawn_from), uniform)

    def learn(self, actions: Integers, rewards: Floats, best: Integers) -> None:
        advantages = normalised(rewards)[:, np.newaxis]
        logits = actions + self._heads.starts
        imitated = self._imitated(best)
        log_probabilities = self._drawn_from
        before = log_probabilities[logits] @ self._owns
        for epoch in range(self._config.epochs):
            if epoch:
                log_probabilities = self._log_probabilities()
            change = log_probabilities[logits] @ self._owns - before
            probabilities = np.exp(log_probabilities)
            pull = self._pull(change, advantages)[:, self._agents]
            drawn = np.bincount(logits.ravel(), pull.ravel(), len(probabilities))
            expected = probabilities * pull.sum(axis=0).repeat(self._heads.counts)
            gradient: Floats = drawn - expected
            if self._config.entropy:
                gradient += self._entropy(log_probabilities, probabilities)
            if imitated is not None:
                gradient += self._config.imitation * (imitated - probabilities)
            self._optimiser.ascend(np.concatenate([gradient, self._heads.members @ gradient]))

    def _log_probabilities(self) -> Floats:
        """Return the logarithm of every choice's probability within its head, float64[L]."""
        heads = self._heads
        weights, count = self._optimiser.weights, len(self._bias)
        logits: Floats = self._bias + weights[:count]
        logits += heads.features @ weights[count:]
        logits -= np.maximum.reduceat(logits, heads.starts).repeat(heads.counts)
        sums = np.add.reduceat(np.exp(logits), heads.starts)
        logits -= np.log(sums).repeat(heads.counts)
        return logits

    def _pull(self, change: Floats, advantages: Floats) -> Floats:
        """Return the clipped surrogate's gradient by every agent's log-probability, float64[N, B].

        ``change`` is the logarithm of every agent's ratio, ``advantages`` is float64[N, 1].
        """
        clip = self._config.clip
        ratio = np.exp(np.minimum(change, MOST_CHANGE))
        free = np.where(advantages >= 0, ratio < 1 + clip, ratio > 1 - clip)
        return advantages * ratio * free / len(free)

    def _entropy(self, log_probabilities: Floats, probabilities: Floats) -> Floats:
        """Return the gradient of the entropy bonus with respect to the logits, float64[L]."""
        heads = self._heads
        surprise = probabilities * log_probabilities
        entropy = -np.add.reduceat(surprise, heads.starts)
        gradient: Floats = surprise + probabilities * entropy.repeat(heads.counts)
        return -self._config.entropy * gradient


HIDDEN = 64
_SEEN = 4
# CleanRL's scale: the random initial weights should hardly change the first policy.
_OUTPUT_SCALE = 0.01


class FirstWeights(NamedTuple):
    """The first weights of all agents' networks; biases are 0.

    Hidden weights are uniform as those of torch's own linear layers.
    """

    policy: list[Floats]
    """Of two hidden layers, float64[A, 4, 64] and [A, 64, 64]."""
    critic: list[Floats]
    """The same of the critics."""
    outputs: list[Floats]
    """Of each head, float64[64, choices]."""
    values: Floats
    """Of the critics, float64[A, 64, 1]."""


def first_weights(heads: Heads, agents: int, rng: np.random.Generator) -> FirstWeights:
    """Draw the first weights."""

    def hidden() -> list[Floats]:
        bounds = [(inputs, 1 / np.sqrt(inputs)) for inputs in (_SEEN, HIDDEN)]
        return [rng.uniform(-bound, bound, (agents, inputs, HIDDEN)) for inputs, bound in bounds]

    def outputs(shape: tuple[int, ...]) -> Floats:
        return rng.normal(0, _OUTPUT_SCALE / np.sqrt(HIDDEN), shape)

    return FirstWeights(
        hidden(),
        hidden(),
        [outputs((HIDDEN, count)) for count in heads.counts.tolist()],
        outputs((agents, HIDDEN, 1)),
    )


class FusedAgents(Agents):
    """What ``NetworkAgents`` are, without PyTorch: drawing and learning are one call each.

    Sums have another order than PyTorch's, so that from the same seed both draw the same actions
    at first, and different ones once rounding has told them apart.

    Args:
        heads, agents, config, bias: as of all agents.
        rng: draws the first weights.
    """

    def __init__(
        self,
        heads: Heads,
        agents: Integers,
        config: MarlConfig,
        bias: Floats,
        rng: np.random.Generator,
    ) -> None:
        super().__init__(heads, agents, config, bias)
        first = first_weights(heads, int(agents.max()) + 1, rng)
        self._team = team(
            heads.counts.tolist(),
            agents.tolist(),
            bias.astype(np.float32),
            [each.astype(np.float32) for each in first.policy],
            [each.astype(np.float32) for each in first.critic],
            np.concatenate([each.T for each in first.outputs]).astype(np.float32),
            first.values.astype(np.float32),
            {
                "rate": config.rate,
                "clip": config.clip,
                "entropy": config.entropy,
                "imitation": config.imitation,
                "most_change": MOST_CHANGE,
                "epochs": config.epochs,
            },
        )

    def draw(self, uniform: Floats, observations: Observations) -> Integers:
        return self._team.draw(observations, uniform)

    def learn(self, actions: Integers, rewards: Floats, best: Integers) -> None:
        imitated = self._imitated(best)
        shares = None if imitated is None else imitated.astype(np.float32)
        self._team.learn(actions, rewards, shares)

    def chances(self) -> Floats:
        """Return the probability of every choice in view of the last row seen, float64[L]."""
        return self._team.chances().astype(np.float64)
