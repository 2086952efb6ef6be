"""Layers of PyTorch that compute as if weights and inputs had few bits (QuaRL, section 3.1).

All numbers stay in floating point. The straight-through gradient lets a network learn meanwhile:
rounding has the gradient of the identity, and what is clipped has none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from maestro_env.base.checks import look_up
from maestro_env.mappers.papers.quantised.quantiser import (
    FORMS,
    Codes,
    QuantisationError,
    codes_between,
    codes_of,
)


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
