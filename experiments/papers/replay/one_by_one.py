"""MADDPG as it is usually written: the networks of the agents run and learn one after another.

This is what stacked networks are compared with; nothing learns by it otherwise.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from maestro_env.mappers.papers.maddpg import Maddpg
from maestro_env.mappers.papers.off_policy import JointRows
from maestro_env.mappers.papers.stacked_networks import Networks, Optimiser, tensor
from maestro_env.mappers.parts.arrays import Floats32, Integers
from maestro_env.mappers.parts.threads import one_thread


class OneByOne(Maddpg):
    """Every network has an optimiser of its own, and every agent a batch of its own.

    The weights are those of ``Maddpg``, whose networks these are views of, and so is what they
    learn, but for rounding and the order of draws.

    Args:
        observations: as of ``Maddpg``, all equal.
        heads: one of each agent, all equal.
        rng: as of ``Maddpg``.
    """

    def __init__(
        self,
        observations: Sequence[int],
        heads: Sequence[Sequence[int]],
        rng: np.random.Generator,
    ) -> None:
        super().__init__(observations, heads, rng)
        self._own_actors, self._own_critics = _apart(self.actors), _apart(self.critics[0])
        self._slow_actors = _apart(self.target_actors)
        self._slow_critics = _apart(self.target_critics[0])
        rate, clip = self.settings.rate, self.settings.clip
        self._of_actors = [Optimiser(each, rate, clip) for each in self._own_actors]
        self._of_critics = [Optimiser(each, rate, clip) for each in self._own_critics]

    @one_thread()
    def act(self, observations: Sequence[Floats32], greedy: bool = False) -> Integers:
        chosen = []
        with torch.no_grad():
            for actor, seen in zip(self._own_actors, observations, strict=True):
                logits = actor(tensor(seen)[None])
                drawn = logits if greedy else self._noisy(logits)
                chosen.append(drawn[0].argmax(dim=1).numpy())
        return np.stack(chosen, axis=1)

    def target_values(self, rows: JointRows) -> Tensor:
        values, size = [], rows.joint.shape[1]
        with torch.no_grad():
            for agent, critic in enumerate(self._slow_critics):
                seen = rows.each_next[:, agent * size : (agent + 1) * size]
                taken = [
                    _one_hots(actor(own[None]))
                    for actor, own in zip(self._slow_actors, seen, strict=True)
                ]
                value = critic(torch.cat([rows.joint_next[agent][None], *taken], dim=2))[0]
                later = self.settings.discount * rows.going[agent] * value
                values.append(rows.rewards[agent] + later)
        return torch.stack(values)

    def fit_critics(self, rows: JointRows, values: Tensor) -> None:
        for agent, critic in enumerate(self._own_critics):
            errors = critic(rows.joint[agent][None])[0] - values[agent]
            self._of_critics[agent].descend((errors**2).mean())

    def improve_actors(self, rows: JointRows) -> None:
        for agent, actor in enumerate(self._own_actors):
            logits = actor(rows.own[agent][None])
            noisy = self._noisy(logits)
            soft = torch.softmax(noisy, dim=2)
            action = _one_hots(noisy) + soft - soft.detach()
            # The actions of all agents come last in a row.
            parts = list(rows.joint[agent][None].split(self._cuts(rows, action), dim=2))
            parts[1 + agent] = action
            value = self._own_critics[agent](torch.cat(parts, dim=2))
            penalty = self.settings.penalty * (logits**2).mean()
            self._of_actors[agent].descend(penalty - value.mean())

    def follow(self) -> None:
        fast, slow = self._own_actors + self._own_critics, self._slow_actors + self._slow_critics
        for target, network in zip(slow, fast, strict=True):
            target.follow(network, self.settings.follow)

    def _cuts(self, rows: JointRows, action: Tensor) -> list[int]:
        """Return the widths of what all saw and of the action of each."""
        return [rows.joint_next.shape[2], *([action.shape[2]] * self.agents)]


def _apart(networks: Networks) -> list[Networks]:
    """Return networks of one agent each, which share the weights."""
    ones = []
    for agent in range(len(networks.parameters[0])):
        one = copy.copy(networks)
        one.parameters = [
            each.detach()[agent : agent + 1].requires_grad_(each.requires_grad)
            for each in networks.parameters
        ]
        ones.append(one)
    return ones


def _one_hots(logits: Tensor) -> Tensor:
    return torch.zeros_like(logits).scatter_(2, logits.argmax(dim=2, keepdim=True), 1)
