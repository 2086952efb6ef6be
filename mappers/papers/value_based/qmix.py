"""IQL, VDN and QMIX: what utilities make of the value of a team, and how agents are trained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor
from torch.nn.functional import elu

from maestro_env.mappers.papers.sparse_networks import FlopMeter
from maestro_env.mappers.papers.stacked_networks import Networks
from maestro_env.mappers.papers.value_based.learner import ValueLearner
from maestro_env.mappers.papers.value_based.settings import Settings


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


class Iql(ValueLearner):
    """The utility of each agent is an estimate of the team's return; nothing is mixed.

    An agent takes the others for a part of the world, which changes as they learn: where only
    what they do together pays, it may never see why.
    """

    def mixed(self, utilities: Tensor, states: Tensor, mixer: Sequence[Networks]) -> Tensor:
        return utilities


class Vdn(ValueLearner):
    """Agents learn together by the gradient of one sum, which has no weights of its own."""

    def mixed(self, utilities: Tensor, states: Tensor, mixer: Sequence[Networks]) -> Tensor:
        return utilities.sum(dim=0, keepdim=True)


LEARNERS: Mapping[str, type[ValueLearner]] = {"iql": Iql, "vdn": Vdn, "qmix": Qmix}


@dataclass(frozen=True)
class Course:
    """What is done in a training, whatever is drawn.

    Args:
        kind: one of ``LEARNERS``.
        observations: numbers that each agent sees.
        heads: number of choices of each head of each agent.
        settings: how they learn.
        acted: rows in which agents choose.
        rows: of an update.
    """

    kind: str
    observations: Sequence[int]
    heads: Sequence[Sequence[int]]
    settings: Settings
    acted: int
    rows: int

    def learner(self, rng: np.random.Generator) -> ValueLearner:
        """Return what learns, at its beginning."""
        return LEARNERS[self.kind](self.observations, self.heads, rng, self.settings)

    def operations(self, of_matrices: Sequence[int] | None = None) -> Counter[str]:
        """Return the operations of all the training by purpose, as the learner's meter does.

        Args:
            of_matrices: links of each matrix; None for as many as learners begin with.
        """
        settings, meter = self.settings, FlopMeter()
        learner = self.learner(np.random.default_rng(0))
        links = learner.by_network(learner.topology.links if of_matrices is None else of_matrices)
        weights = learner.by_network(learner.topology.sizes)
        moves = settings.updates // settings.interval if settings.moving else 0
        grown = moves if settings.growth == "gradient" else 0
        steps = settings.updates - moves
        meter.forward("act agents", links["agents"], self.acted)
        valued = (steps + grown) * self.rows if settings.discount > 0 else 0
        for network, there in links.items():
            meter.forward(f"target {network}", there, valued)
            meter.update(f"update {network}", there, steps * self.rows)
            meter.dense_gradients(f"grow {network}", there, weights[network], grown * self.rows)
        return meter.spent
