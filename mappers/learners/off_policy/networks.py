"""Networks of all agents side by side, so that a layer of all of them is one product."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from mappers.learners.tasks.physics import Floats32
from mappers.parts.arrays import Floats

DTYPE = torch.float32
"""Of all weights and arithmetic."""

_HIDDEN = 64
# More rows at once leave the caches, and their memory is given back to the system after each use.
_ROWS = 1024
# As of torch.nn.utils.clip_grad_norm_.
_LEAST_NORM = 1e-6


class Networks:
    """N networks with two hidden layers of 64 ReLUs each.

    Networks with fewer inputs or outputs than the largest are padded by zeros. That changes
    nothing: padded inputs are 0 and no loss depends on padded outputs, so weights there stay 0.

    Args:
        inputs: numbers that each network takes; I is the largest.
        outputs: numbers that each gives; O is the largest.
        rng: draws the weights: uniform as those of torch's own linear layers; biases are 0.

    Attributes:
        parameters: weights and biases of three layers: float32[N, from, to] and [N, 1, to].
    """

    def __init__(
        self, inputs: Sequence[int], outputs: Sequence[int], rng: np.random.Generator
    ) -> None:
        hidden = [_HIDDEN] * len(inputs)
        self.parameters: list[Tensor] = []
        for froms, tos in ((inputs, hidden), (hidden, hidden), (hidden, outputs)):
            weights = np.zeros((len(froms), max(froms), max(tos)))
            for network, (before, after) in enumerate(zip(froms, tos, strict=True)):
                bound = 1 / np.sqrt(before)
                weights[network, :before, :after] = rng.uniform(-bound, bound, (before, after))
            biases = np.zeros((len(froms), 1, max(tos)))
            self.parameters += [tensor(each).requires_grad_() for each in (weights, biases)]

    def __call__(self, inputs: Tensor) -> Tensor:
        """Return the outputs [N, B, O] for inputs [N, B, I]."""
        return torch.cat([self._outputs(rows) for rows in inputs.split(_ROWS, dim=1)], dim=1)

    def _outputs(self, inputs: Tensor) -> Tensor:
        first, first_bias, second, second_bias, last, last_bias = self.parameters
        # In place: fresh memory for as many numbers takes longer than the ReLUs themselves.
        hidden = torch.baddbmm(first_bias, inputs, first).relu_()
        hidden = torch.baddbmm(second_bias, hidden, second).relu_()
        return torch.baddbmm(last_bias, hidden, last)

    def begin_with(self, outputs: Sequence[Floats]) -> None:
        """Let each network first give certain outputs, float64[outputs], whatever its inputs."""
        last, biases = self.parameters[-2:]
        with torch.no_grad():
            last.zero_()
            for network, given in enumerate(outputs):
                biases[network, 0, : len(given)] = tensor(given)

    def copy(self) -> Networks:
        """Return networks with the same weights, which no gradient reaches."""
        other = copy.copy(self)
        other.parameters = [each.detach().clone() for each in self.parameters]
        return other

    def follow(self, others: Networks, share: float) -> None:
        """Move all weights by a share of the way to those of others."""
        with torch.no_grad():
            for own, other in zip(self.parameters, others.parameters, strict=True):
                own.lerp_(other, share)


def tensor(array: Floats | Floats32) -> Tensor:
    """Return an array as a tensor of our type."""
    return torch.as_tensor(array, dtype=DTYPE)


class Optimiser:
    """Adam for networks side by side; the gradient of each network has a bounded norm.

    Args:
        networks: what it changes.
        rate: learning rate.
        most: largest norm of a network's gradient; longer ones are scaled down to it.
    """

    def __init__(self, networks: Networks, rate: float, most: float) -> None:
        self._parameters, self._most = networks.parameters, most
        self._adam = torch.optim.Adam(self._parameters, rate, foreach=True)

    def descend(self, loss: Tensor) -> None:
        """Take a step down a loss: the sum of a loss of each network."""
        gradients = torch.autograd.grad(loss, self._parameters)
        squares = torch.stack([(each * each).sum(dim=(1, 2)) for each in gradients])
        shares = (self._most / (squares.sum(dim=0).sqrt() + _LEAST_NORM)).clamp(max=1)
        for parameter, gradient in zip(self._parameters, gradients, strict=True):
            parameter.grad = gradient * shares[:, None, None]
        self._adam.step()
