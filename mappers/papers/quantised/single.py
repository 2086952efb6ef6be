"""DQN and DDPG: what one agent learns off-policy, in full precision, by a policy of any widths.

They are apart from ``actorq`` because actors, which import that, need no PyTorch.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import smooth_l1_loss

from maestro_env.mappers.papers.quantised.quantiser import Layers, Ranges
from maestro_env.mappers.papers.replay.layouts import Batch
from maestro_env.mappers.parts.arrays import Floats32
from maestro_env.mappers.parts.threads import one_thread

FOLLOW = 0.02
"""Share of the way that targets move at an update."""

# Adam's rate for layers of 64; that of wider ones is in inverse proportion (Yang et al., 2021).
_RATE, _RATED_WIDTH = 1e-3, 64
# The widest policies have the critic of the paper of ActorQ.
_WIDE, _CRITIC = 2048, (512, 512, 512)


class SingleLearner(ABC):
    """A policy that learns from batches of one agent's steps.

    Args:
        inputs: numbers that it sees.
        outputs: numbers that the policy gives.
        hidden: widths of its hidden layers.
        seed: of the first weights.

    Attributes:
        policy: linear layers with ReLU between them.
        critic: values actions.
        target: the policy as it was, followed slowly.
        critic_target: the same of the critic.
    """

    def __init__(self, inputs: int, outputs: int, hidden: Sequence[int], seed: int) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.policy = _perceptron((inputs, *hidden, outputs))
            self.critic = self._make_critic(inputs + outputs, hidden)
        self.target, self.critic_target = copy.deepcopy((self.policy, self.critic))
        rate = _RATE * _RATED_WIDTH / max(hidden)
        self._steps, self._critic_steps = (
            torch.optim.Adam(each.parameters(), rate, foreach=True)
            for each in (self.policy, self.critic)
        )

    @one_thread()
    def update(self, batch: Batch) -> None:
        """Learn from rows of one agent."""
        seen, following = (torch.from_numpy(each[0]) for each in (batch[0], batch[3]))
        actions = torch.from_numpy(batch.actions[0])
        wanted = self.wanted(batch.rewards, following, batch.dones)
        _descend(self._critic_steps, smooth_l1_loss(self.values(seen, actions), wanted))
        self._improve(seen)
        pairs = (self.target, self.policy), (self.critic_target, self.critic)
        with torch.no_grad():
            for target, network in dict(pairs).items():
                for slow, fast in zip(target.parameters(), network.parameters(), strict=True):
                    slow.lerp_(fast, FOLLOW)

    def wanted(self, rewards: Floats32, following: Tensor, dones: Floats32) -> Tensor:
        """Return what the values of a batch should be, [B, 1]; ``dones`` as of ``actorq``."""
        with torch.no_grad():
            discounts = torch.from_numpy(1 - dones)
            return torch.from_numpy(rewards) + discounts * self._next_values(following)

    @one_thread()
    def outputs(self, observations: Floats32) -> Floats32:
        """Return the policy's outputs float32[B, outputs] of observations float32[B, inputs]."""
        with torch.no_grad():
            found: Floats32 = self.policy(torch.from_numpy(observations)).numpy()
            return found

    def layers(self) -> Layers:
        """Return the policy's layers, as views of its parameters."""
        arrays = [each.detach().numpy().T[None] for each in self.policy.parameters()]
        return Layers(arrays[::2], arrays[1::2], "relu")

    @one_thread()
    def ranges(self, observations: Floats32) -> Ranges:
        """Return what each layer takes when the policy sees observations float32[B, inputs]."""
        found, taken = [], torch.from_numpy(observations)
        with torch.no_grad():
            for layer in self.policy:
                if isinstance(layer, nn.Linear):
                    found.append((taken.min().numpy()[None], taken.max().numpy()[None]))
                taken = layer(taken)
        return found

    @abstractmethod
    def _make_critic(self, inputs: int, hidden: Sequence[int]) -> nn.Sequential:
        """Return what values actions, which may be the policy itself."""

    @abstractmethod
    def values(self, seen: Tensor, actions: Tensor) -> Tensor:
        """Return the values [B, 1] of actions [B, a]."""

    @abstractmethod
    def _next_values(self, seen: Tensor) -> Tensor:
        """Return the targets' values [B, 1] of the targets' actions."""

    @abstractmethod
    def _improve(self, seen: Tensor) -> None:
        """Move the policy towards actions of more value."""


class Dqn(SingleLearner):
    """DQN (Mnih et al., 2013): the policy's outputs are the values of the choices."""

    def _make_critic(self, inputs: int, hidden: Sequence[int]) -> nn.Sequential:
        return self.policy

    def values(self, seen: Tensor, actions: Tensor) -> Tensor:
        chosen: Tensor = self.critic(seen).gather(1, actions.long())
        return chosen

    def _next_values(self, seen: Tensor) -> Tensor:
        best: Tensor = self.critic_target(seen).amax(dim=1, keepdim=True)
        return best

    def _improve(self, seen: Tensor) -> None:
        """Leave the policy, which is the critic."""


class Ddpg(SingleLearner):
    """DDPG (Lillicrap et al., 2016): actions are the tanh of the policy's outputs.

    It stands in for D4PG, which the paper of ActorQ has: the same policy, one critic of values
    instead of one of distributions.
    """

    def _make_critic(self, inputs: int, hidden: Sequence[int]) -> nn.Sequential:
        return _perceptron((inputs, *(_CRITIC if max(hidden) >= _WIDE else hidden), 1))

    def values(self, seen: Tensor, actions: Tensor) -> Tensor:
        return _valued(self.critic, seen, actions)

    def _next_values(self, seen: Tensor) -> Tensor:
        return _valued(self.critic_target, seen, self.target(seen).tanh())

    def _improve(self, seen: Tensor) -> None:
        _descend(self._steps, -_valued(self.critic, seen, self.policy(seen).tanh()).mean())


def _perceptron(widths: Sequence[int]) -> nn.Sequential:
    layers = [(nn.Linear(before, after), nn.ReLU()) for before, after in pairwise(widths)]
    return nn.Sequential(*[each for pair in layers for each in pair][:-1])


def _valued(critic: nn.Module, seen: Tensor, actions: Tensor) -> Tensor:
    values: Tensor = critic(torch.cat([seen, actions], dim=1))
    return values


def _descend(steps: torch.optim.Optimizer, loss: Tensor) -> None:
    """Take a step that changes only what an optimiser has, whatever else the loss depends on."""
    parameters = steps.param_groups[0]["params"]
    for parameter, gradient in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
        parameter.grad = gradient
    steps.step()
