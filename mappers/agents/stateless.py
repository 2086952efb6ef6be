"""PPO agents that the core computes: a logit for each choice, or a network for each agent."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maestro_env.base import native_learning as core
from maestro_env.evaluation.observations_and_rewards import Observations
from maestro_env.mappers.agents.team import MOST_CHANGE, Agents, Heads, MarlConfig
from maestro_env.mappers.parts.arrays import Floats, Integers


class StatelessAgents(Agents):
    """Agents without observations: the best mapping does not depend on the last one.

    The logit of a choice is the sum of a fixed start, its own weight, and the weights of the
    features it shares with other choices (``Heads.features``).
    """

    def __init__(self, heads: Heads, agents: Integers, config: MarlConfig, bias: Floats) -> None:
        super().__init__(heads, agents, config, bias)
        self._team = core.StatelessAgents(
            heads.native, agents.tolist(), bias, heads.features, _rule(config)
        )

    def draw(self, uniform: Floats, observations: Observations) -> Integers:
        return self._team.draw(uniform)

    def learn(self, actions: Integers, rewards: Floats, best: Integers) -> None:
        self._team.learn(actions, rewards, best)

    def chances(self) -> Floats:
        """Return the probability of every choice, float64[L]."""
        return self._team.chances()


def _rule(config: MarlConfig) -> dict[str, float]:
    """Return how agents learn, as the core takes it."""
    return {
        "rate": config.rate,
        "clip": config.clip,
        "entropy": config.entropy,
        "imitation": config.imitation,
        "most_change": MOST_CHANGE,
        "epochs": config.epochs,
    }


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
        self._team = core.Team(
            heads.counts.tolist(),
            agents.tolist(),
            bias.astype(np.float32),
            [each.astype(np.float32) for each in first.policy],
            [each.astype(np.float32) for each in first.critic],
            np.concatenate([each.T for each in first.outputs]).astype(np.float32),
            first.values.astype(np.float32),
            _rule(config),
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
