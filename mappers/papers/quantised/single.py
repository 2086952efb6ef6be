"""DQN and DDPG: what one agent learns off-policy, in full precision, by a policy of any widths.

They are apart from ``actorq`` because actors, which import that, need no PyTorch.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.functional import smooth_l1_loss

from maestro_env.base.registry import look_up
from maestro_env.mappers.papers.quantised.quantiser import (
    FORMS,
    Codes,
    Layers,
    QuantisationError,
    Ranges,
    codes_between,
    codes_of,
)
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


@dataclass
class Precision:
    """What all quantised layers of a network do; it may change at any time.

    Args:
        bits: of weights and inputs, 2 to 16; None for floating point.
        recording: whether layers widen their range to what they take, float or rounded.
        per_channel: whether each output of a layer has a range of weights of its own.
        form: one of ``quantiser.FORMS``.

    Raises:
        UnknownNameError: no such form.
    """

    bits: int | None = None
    recording: bool = False
    per_channel: bool = True
    form: str = "clipped"

    def __post_init__(self) -> None:
        look_up("form", self.form, FORMS)

    @property
    def clipped(self) -> bool:
        """As of ``Codes``."""
        return self.form != "paper"


class Quantised(nn.Module):  # type: ignore[misc]
    """A linear or convolutional layer whose weights and inputs are rounded to codes.

    Args:
        layer: has the parameters, which stay the same objects.
        precision: shared by the layers of a network.

    Raises:
        QuantisationError: by a call, bits outside of 2 to 16, or no range was recorded.
    """

    low: Tensor
    high: Tensor

    def __init__(self, layer: nn.Linear | nn.Conv2d, precision: Precision) -> None:
        super().__init__()
        self.layer, self.precision = layer, precision
        self.register_buffer("low", torch.tensor(math.inf))
        self.register_buffer("high", torch.tensor(-math.inf))

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the outputs of a layer, of the inputs that it takes."""
        precision = self.precision
        if precision.recording and inputs.numel():
            self.low = torch.minimum(self.low, inputs.detach().min())
            self.high = torch.maximum(self.high, inputs.detach().max())
        if precision.bits is None:
            outputs: Tensor = self.layer(inputs)
            return outputs
        if precision.form != "weights":
            inputs = rounded(inputs, self.codes_of_inputs(precision.bits))
        weight = rounded(self.layer.weight, self.codes_of_weights(precision.bits))
        if isinstance(self.layer, nn.Conv2d):
            return self.layer._conv_forward(inputs, weight, self.layer.bias)
        return functional.linear(inputs, weight, self.layer.bias)

    def codes_of_weights(self, bits: int) -> Codes:
        """Return the codes of the present weights."""
        weight = self.layer.weight.detach().cpu().numpy()
        axes = tuple(range(1, weight.ndim)) if self.precision.per_channel else None
        return codes_of(weight, bits, axes, self.precision.clipped)

    def codes_of_inputs(self, bits: int) -> Codes:
        """Return the codes of the range that was recorded."""
        if self.low > self.high:
            raise QuantisationError(
                f"a layer of {self.layer.weight.shape[0]} outputs has no range of inputs; record "
                "one: call the network with precision.recording = True"
            )
        low, high = self.low.cpu().numpy(), self.high.cpu().numpy()
        return codes_between(low, high, bits, self.precision.clipped)


def quantise(network: nn.Module, precision: Precision) -> None:
    """Replace all ``nn.Linear`` and ``nn.Conv2d`` inside a network; its parameters stay.

    Subclasses stay, too: modules such as ``nn.MultiheadAttention`` take their weights as they are.

    Raises:
        QuantisationError: there are none, or they were replaced before.
    """
    if any(isinstance(each, Quantised) for each in network.modules()):
        raise QuantisationError(
            f"{type(network).__name__} is quantised already; change its precision instead"
        )
    found = [
        (parent, name, layer)
        for parent in network.modules()
        for name, layer in parent.named_children()
        if type(layer) in (nn.Linear, nn.Conv2d)
    ]
    if not found:
        raise QuantisationError(
            f"{type(network).__name__} contains no layers; allowed: networks with nn.Linear or "
            "nn.Conv2d inside"
        )
    for parent, name, layer in found:
        setattr(parent, name, Quantised(layer, precision))


def rounded(numbers: Tensor, codes: Codes) -> Tensor:
    """Return what ``Codes.simulated`` does, with the straight-through gradient."""
    simulated: Tensor = _StraightThrough.apply(numbers, codes)
    return simulated


class _StraightThrough(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(context: Any, numbers: Tensor, codes: Codes) -> Tensor:
        scale = torch.as_tensor(codes.scale, device=numbers.device)
        steps = torch.round(numbers / scale)
        kept = steps
        if codes.clipped:
            zero = torch.as_tensor(codes.zero, device=numbers.device).to(steps.dtype)
            kept = torch.clamp(steps, -zero, 2**codes.bits - 1 - zero)
        context.save_for_backward(kept == steps)
        return kept * scale

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (inside,) = context.saved_tensors
        return gradient * inside, None
