"""QMIX (Rashid et al., 2018): a monotonic network of the state mixes the utilities of agents."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import Tensor
from torch.nn.functional import elu

from maestro_env.mappers.papers.off_policy.networks import Networks
from maestro_env.mappers.papers.value_based.learner import ValueLearner


class Qmix(ValueLearner):
    """The value of the team never falls when the utility of an agent rises.

    A hidden layer of ELUs takes the utilities. Its weights, its biases, the weights of the output
    and the output's bias are each what a hypernetwork with one hidden layer of ReLUs makes of the
    state; of weights the absolute values count. The state is what all agents see.
    """

    @property
    def products(self) -> int:
        return (self.agents + 1) * self.settings.embedding

    def _mixer_networks(self, state: int, rng: np.random.Generator) -> list[Networks]:
        width = self.settings.embedding
        outputs = [self.agents * width, width, width, 1]
        return [self._made([state] * len(outputs), outputs, rng, [width])]

    def mixed(self, utilities: Tensor, states: Tensor, mixer: Sequence[Networks]) -> Tensor:
        width = self.settings.embedding
        weights, biases, lasts, last_bias = mixer[0](states.expand(4, -1, -1))
        first = weights.abs().unflatten(1, (self.agents, width))
        hidden = elu((utilities.T[:, None] @ first)[:, 0] + biases[:, :width])
        mixed: Tensor = (hidden * lasts[:, :width].abs()).sum(dim=1) + last_bias[:, 0]
        return mixed[None]
