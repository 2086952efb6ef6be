"""IQL, VDN and QMIX as everybody writes them: a network after the other, torch's own modules."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import elu

from maestro_env.mappers.papers.replay.layouts import Batch
from maestro_env.mappers.papers.stacked_networks import Networks, tensor
from maestro_env.mappers.papers.value_based.learner import ValueLearner


def modules(networks: Networks, sizes: Sequence[Sequence[int]]) -> list[nn.Sequential]:
    """The networks as modules of their own sizes, with copies of their weights."""
    made = []
    for index, own in enumerate(sizes):
        layers: list[nn.Module] = []
        for place, (before, after) in enumerate(pairwise(own)):
            linear = nn.Linear(before, after)
            weights, biases = networks.parameters[2 * place : 2 * place + 2]
            linear.weight.data = weights[index, :before, :after].detach().T.clone()
            linear.bias.data = biases[index, 0, :after].detach().clone()
            layers += [linear, nn.ReLU()]
        made.append(nn.Sequential(*layers[:-1]))
    return made


class Plain:
    """The same agents as a learner's, whose masks stay.

    Args:
        learner: gives the first weights, and settings.
        observations, heads: numbers of each agent.
        kind: ``iql``, ``vdn`` or ``qmix``.
    """

    def __init__(
        self,
        learner: ValueLearner,
        observations: Sequence[int],
        heads: Sequence[Sequence[int]],
        kind: str,
    ) -> None:
        self.settings, self.heads, self.kind = learner.settings, heads, kind
        hidden, width = learner.settings.hidden, learner.settings.embedding
        agents = [
            [seen, *hidden, sum(counts)] for seen, counts in zip(observations, heads, strict=True)
        ]
        outputs = (len(heads) * width, width, width, 1) if kind == "qmix" else ()
        mixer = [[sum(observations), width, each] for each in outputs]
        both = [agents, mixer] if mixer else [agents]

        def made() -> list[nn.Sequential]:
            pairs = zip(learner.networks, both, strict=True)
            return [net for networks, sizes in pairs for net in modules(networks, sizes)]

        self.nets, self.slow = made(), made()
        self.adams = [torch.optim.Adam(net.parameters(), self.settings.rate) for net in self.nets]
        self.masks = [
            [(each != 0) if each.dim() == 2 else torch.ones_like(each) for each in net.parameters()]
            for net in self.nets
        ]

    def mixed(self, nets: list[nn.Sequential], utilities: list[Tensor], state: Tensor) -> Tensor:
        """Values of a row, [K]."""
        each = torch.stack(utilities)
        if self.kind == "iql":
            return each
        if self.kind == "vdn":
            return each.sum()[None]
        first, bias, last, last_bias = (net(state) for net in nets[len(self.heads) :])
        weights = first.abs().reshape(len(self.heads), -1)
        return elu(each @ weights + bias) @ last.abs()[:, None] + last_bias

    def worth(self, values: Tensor) -> Tensor:
        """Soft Mellowmax of the choices of a head, by its definition."""
        shares = torch.softmax(self.settings.alpha * values, dim=0)
        omega = self.settings.omega
        return (shares * (omega * values).exp()).sum().log() / omega

    def update(self, episodes: Sequence[Batch]) -> None:
        """One update with episodes, each a batch of its steps; those end where one is done."""
        errors = []
        for episode in episodes:
            ends = episode.dones[:, 0].nonzero()[0]
            length = int(ends[0]) + 1 if len(ends) else len(episode.rewards)
            errors += [
                (self.value(episode, step) - self.returned(episode, step, length)) ** 2
                for step in range(length)
            ]
        loss = torch.stack(errors).mean(dim=0).sum()
        for adam in self.adams:
            adam.zero_grad()
        loss.backward()
        for net, adam, masks in zip(self.nets, self.adams, self.masks, strict=True):
            for each, mask in zip(net.parameters(), masks, strict=True):
                each.grad *= mask
            nn.utils.clip_grad_norm_(net.parameters(), self.settings.clip)
            adam.step()

    def value(self, episode: Batch, step: int) -> Tensor:
        utilities = []
        for agent, counts in enumerate(self.heads):
            parts = self.nets[agent](tensor(episode.observations[agent][step])).split(counts)
            taken = episode.actions[agent][step].astype(int).tolist()
            chosen = [part[choice] for part, choice in zip(parts, taken, strict=True)]
            utilities.append(sum(chosen) / len(chosen))
        state = torch.cat([tensor(each[step]) for each in episode.observations])
        return self.mixed(self.nets, utilities, state)

    @torch.no_grad()
    def following(self, episode: Batch, step: int) -> Tensor:
        utilities = []
        for agent, counts in enumerate(self.heads):
            seen = tensor(episode.next_observations[agent][step])
            worths = [self.worth(part) for part in self.slow[agent](seen).split(counts)]
            utilities.append(sum(worths) / len(worths))
        state = torch.cat([tensor(each[step]) for each in episode.next_observations])
        return self.mixed(self.slow, utilities, state)

    def returned(self, episode: Batch, step: int, length: int) -> Tensor:
        """The forward view: n-step returns, each with its weight."""
        discount, trace = self.settings.discount, self.settings.trace
        paid = episode.rewards.mean(axis=1).tolist()
        total, left = 0.0, 1.0
        for last in range(step, length):
            rewards = sum(discount ** (k - step) * paid[k] for k in range(step, last + 1))
            ahead = discount ** (last + 1 - step) * self.following(episode, last)
            n_steps = rewards + (0 * ahead if episode.dones[last, 0] else ahead)
            weight = left if last == length - 1 else left * (1 - trace)
            total, left = total + weight * n_steps, left * trace
        return total
