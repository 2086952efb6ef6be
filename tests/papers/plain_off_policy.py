"""MADDPG and MASAC as everybody writes them: one network after the other, torch's own modules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss, one_hot

from maestro_env.mappers.papers.off_policy import OffPolicyLearner, Settings
from maestro_env.mappers.papers.replay.layouts import Batch
from maestro_env.mappers.papers.stacked_networks import Networks, tensor

Noise = Callable[[int], list[Tensor]]


def modules(networks: Networks, inputs: Sequence[int], outputs: Sequence[int]) -> list[nn.Module]:
    """The networks as modules of their own sizes, with copies of their weights."""
    made = []
    for index, (before, after) in enumerate(zip(inputs, outputs, strict=True)):
        sizes = (before, 64, 64, after)
        linear = [nn.Linear(*pair) for pair in pairwise(sizes)]
        for layer, weights, biases in zip(
            linear, networks.parameters[::2], networks.parameters[1::2], strict=True
        ):
            layer.weight.data = weights[index, : layer.in_features, : layer.out_features].T.clone()
            layer.bias.data = biases[index, 0, : layer.out_features].clone()
        made.append(nn.Sequential(linear[0], nn.ReLU(), linear[1], nn.ReLU(), linear[2]))
    for each in made:
        each.requires_grad_(True)
    return made


class Plain:
    """The same agents as a learner's, each learning on its own.

    Args:
        learner: gives the first weights.
        observations, heads: numbers of each agent.
        noise: Gumbel noise for the actions of all agents in some rows, [R, a_i] each.
    """

    def __init__(
        self,
        learner: OffPolicyLearner,
        observations: Sequence[int],
        heads: Sequence[Sequence[int]],
        noise: Noise,
    ) -> None:
        self.settings, self.heads, self.noise = Settings(), heads, noise
        self.agents = range(len(heads))
        choices = [sum(counts) for counts in heads]
        joint = [sum(observations) + sum(choices)] * len(choices)
        one = [1] * len(choices)

        def copies(networks: Networks) -> list[nn.Module]:
            return modules(networks, joint, one)

        self.actors = modules(learner.actors, observations, choices)
        self.target_actors = modules(learner.actors, observations, choices)
        self.critics = [copies(each) for each in learner.critics]
        self.target_critics = [copies(each) for each in learner.critics]
        nets = [*self.actors, *(net for critic in self.critics for net in critic)]
        self.adams = {net: torch.optim.Adam(net.parameters(), self.settings.rate) for net in nets}

    def one_hot(self, agent: int, logits: Tensor) -> Tensor:
        parts = logits.split(self.heads[agent], dim=1)
        hot = [one_hot(part.argmax(dim=1), part.shape[1]) for part in parts]
        return torch.cat(hot, dim=1).to(logits)

    def soft(self, agent: int, logits: Tensor) -> Tensor:
        parts = logits.split(self.heads[agent], dim=1)
        return torch.cat([torch.softmax(part, dim=1) for part in parts], dim=1)

    def least(self, critics: list[list[nn.Module]], agent: int, joint: Tensor) -> Tensor:
        return torch.stack([each[agent](joint)[:, 0] for each in critics]).min(dim=0).values

    def descend(self, net: nn.Module, loss: Tensor) -> None:
        self.adams[net].zero_grad()
        loss.backward(inputs=list(net.parameters()))
        nn.utils.clip_grad_norm_(net.parameters(), self.settings.clip)
        self.adams[net].step()

    def next_actions(self, following: list[list[Tensor]]) -> list[tuple[list[Tensor], Tensor]]:
        """For each agent's batch the next actions of all, and the bonus of that agent's values."""
        raise NotImplementedError

    def policy_loss(self, agent: int, logits: Tensor, value: Tensor) -> Tensor:
        raise NotImplementedError

    def update(self, batches: Sequence[Batch]) -> None:
        """One update; ``batches`` has one for each agent."""

        def tensors(parts: Sequence[object]) -> list[Tensor]:
            return [tensor(part) for part in parts]

        following = [tensors(batch.next_observations) for batch in batches]
        targets = []
        with torch.no_grad():
            for agent, (actions, bonus) in zip(
                self.agents, self.next_actions(following), strict=True
            ):
                joint = torch.cat([*following[agent], *actions], dim=1)
                value = self.least(self.target_critics, agent, joint) + bonus
                rewards, dones = (
                    tensor(each[:, agent])
                    for each in (batches[agent].rewards, batches[agent].dones)
                )
                targets.append(rewards + self.settings.discount * (1 - dones) * value)
        for agent, batch in enumerate(batches):
            joint = torch.cat(tensors([*batch.observations, *batch.actions]), dim=1)
            for critic in self.critics:
                net = critic[agent]
                self.descend(net, mse_loss(net(joint)[:, 0], targets[agent]))
        noise = self.noise(len(batches[0].rewards))
        for agent, batch in enumerate(batches):
            actions = tensors(batch.actions)
            logits = self.actors[agent](tensor(batch.observations[agent]))
            soft = self.soft(agent, logits + noise[agent])
            hard = self.one_hot(agent, logits + noise[agent])
            actions[agent] = hard + soft - soft.detach()
            value = self.least(
                self.critics, agent, torch.cat([*tensors(batch.observations), *actions], dim=1)
            )
            self.descend(self.actors[agent], self.policy_loss(agent, logits, value))
        pairs = [
            *zip(self.target_actors, self.actors, strict=True),
            *(
                pair
                for both in zip(self.target_critics, self.critics, strict=True)
                for pair in zip(*both, strict=True)
            ),
        ]
        share = self.settings.follow
        with torch.no_grad():
            for slow, fast in pairs:
                for old, new in zip(slow.parameters(), fast.parameters(), strict=True):
                    old.copy_((1 - share) * old + share * new)


class PlainMaddpg(Plain):
    def next_actions(self, following: list[list[Tensor]]) -> list[tuple[list[Tensor], Tensor]]:
        return [
            (
                [self.one_hot(j, self.target_actors[j](seen[j])) for j in self.agents],
                seen[0].new_zeros(len(seen[0])),
            )
            for seen in following
        ]

    def policy_loss(self, agent: int, logits: Tensor, value: Tensor) -> Tensor:
        return -value.mean() + 1e-3 * (logits**2).mean()


class PlainMasac(Plain):
    def next_actions(self, following: list[list[Tensor]]) -> list[tuple[list[Tensor], Tensor]]:
        size = len(following[0][0])
        noise = self.noise(len(following) * size)
        found = []
        for agent, seen in enumerate(following):
            rows = slice(agent * size, (agent + 1) * size)
            logits = [self.actors[j](seen[j]) for j in self.agents]
            actions = [self.one_hot(j, logits[j] + noise[j][rows]) for j in self.agents]
            chosen = (self.soft(agent, logits[agent]).log() * actions[agent]).sum(dim=1)
            found.append((actions, -0.05 * chosen))
        return found

    def policy_loss(self, agent: int, logits: Tensor, value: Tensor) -> Tensor:
        policy = self.soft(agent, logits)
        entropy = -(policy * policy.log()).sum(dim=1)
        return (-0.05 * entropy - value).mean()
