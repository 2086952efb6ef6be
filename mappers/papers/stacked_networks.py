"""Networks of all agents side by side, so that a layer of all of them is one product."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Self

import numpy as np
import torch
from torch import Tensor

from maestro_env.mappers.parts.arrays import Booleans, Floats, Floats32, Integers
from maestro_env.mappers.parts.sparse_topology import adam_moments

DTYPE = torch.float32
"""Of all weights and arithmetic."""

# More rows at once leave the caches, and their memory is given back to the system after each use.
_ROWS = 1024
# As of torch.nn.utils.clip_grad_norm_.
_LEAST_NORM = 1e-6


class Networks:
    """N networks with hidden layers of ReLUs.

    Networks with fewer inputs or outputs than the largest are padded by zeros. That changes
    nothing: padded inputs are 0 and no loss depends on padded outputs, so weights there stay 0.

    Args:
        inputs: numbers that each network takes; I is the largest.
        outputs: numbers that each gives; O is the largest.
        rng: draws the weights: uniform as those of torch's own linear layers; biases are 0.
        hidden: ReLUs of each hidden layer.

    Attributes:
        parameters: weights and biases of each layer: float32[N, from, to] and [N, 1, to].
        shapes: inputs and outputs of each network in each layer, without padding.
    """

    def __init__(
        self,
        inputs: Sequence[int],
        outputs: Sequence[int],
        rng: np.random.Generator,
        hidden: Sequence[int] = (64, 64),
    ) -> None:
        widths = [inputs, *([each] * len(inputs) for each in hidden), outputs]
        self.parameters: list[Tensor] = []
        self.shapes: list[list[tuple[int, int]]] = []
        for froms, tos in pairwise(widths):
            self.shapes.append(list(zip(froms, tos, strict=True)))
            weights = np.zeros((len(froms), max(froms), max(tos)))
            for network, (before, after) in enumerate(self.shapes[-1]):
                bound = 1 / np.sqrt(before)
                weights[network, :before, :after] = rng.uniform(-bound, bound, (before, after))
            biases = np.zeros((len(froms), 1, max(tos)))
            self.parameters += [tensor(each).requires_grad_() for each in (weights, biases)]

    def __call__(self, inputs: Tensor) -> Tensor:
        """Return the outputs [N, B, O] for inputs [N, B, I]."""
        return torch.cat([self._outputs(rows) for rows in inputs.split(_ROWS, dim=1)], dim=1)

    def _outputs(self, inputs: Tensor) -> Tensor:
        *hidden, last, last_bias = self.parameters
        for weights, biases in zip(hidden[::2], hidden[1::2], strict=True):
            # In place: fresh memory for as many numbers takes longer than the ReLUs themselves.
            inputs = torch.baddbmm(biases, inputs, weights).relu_()
        return torch.baddbmm(last_bias, inputs, last)

    def begin_with(self, outputs: Sequence[Floats]) -> None:
        """Let each network first give certain outputs, float64[outputs], whatever its inputs."""
        last, biases = self.parameters[-2:]
        with torch.no_grad():
            last.zero_()
            for network, given in enumerate(outputs):
                biases[network, 0, : len(given)] = tensor(given)

    @property
    def trained(self) -> list[Tensor]:
        """What is learnt: the parameters."""
        return self.parameters

    def keep(
        self,
        masks: Sequence[Tensor],
        moments: Sequence[Sequence[Tensor]] = (),
        spread: Sequence[Sequence[Tensor]] = (),
    ) -> None:
        """Learn the weights where masks are 1 from now on; as many of each matrix as before.

        Args:
            masks: one for each parameter, of its shape; the others are 0.
            moments: of ``trained``, which change with it.
            spread: these moments as ``spread`` returned them, perhaps changed since.
        """

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Compute with all parameters, as they are learnt, within the block; those of 0 too."""
        yield

    def spread(self, few: Sequence[Tensor]) -> Sequence[Tensor]:
        """Return numbers shaped as ``trained`` shaped as the parameters."""
        return few

    def copy(self) -> Self:
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


def padded(batches: Sequence[Sequence[Floats32]], widths: Sequence[int]) -> Tensor:
    """Return each agent's arrays [B, w_i] of K batches below each other, [N, K * B, W]."""
    size = len(batches[0][0])
    found = np.zeros((len(widths), len(batches) * size, max(widths)), dtype=np.float32)
    for batch, parts in enumerate(batches):
        for agent, part in enumerate(parts):
            found[agent, batch * size : (batch + 1) * size, : part.shape[1]] = part
    return tensor(found)


class Optimiser:
    """Adam for networks side by side; the gradient of each network has a bounded norm.

    Args:
        networks: what it changes.
        rate: learning rate.
        most: largest norm of a network's gradient; longer ones are scaled down to it.
        masks: 1 where a weight exists, 0 where it stays 0, one for each parameter; None if all do.
    """

    def __init__(
        self, networks: Networks, rate: float, most: float, masks: Sequence[Tensor] | None = None
    ) -> None:
        self._parameters, self._most, self._masks = networks.trained, most, masks
        self._adam = torch.optim.Adam(self._parameters, rate, foreach=True)

    def descend(self, loss: Tensor) -> None:
        """Take a step down a loss: the sum of a loss of each network."""
        self.step(torch.autograd.grad(loss, self._parameters))

    def step(self, gradients: Sequence[Tensor]) -> None:
        """Take a step against gradients, one for each parameter."""
        if self._masks is not None:
            # Before the norm and Adam, which weights that do not exist must not reach.
            gradients = [each * mask for each, mask in zip(gradients, self._masks, strict=True)]
        squares = torch.stack([(each * each).sum(dim=(1, 2)) for each in gradients])
        shares = (self._most / (squares.sum(dim=0).sqrt() + _LEAST_NORM)).clamp(max=1)
        for parameter, gradient in zip(self._parameters, gradients, strict=True):
            parameter.grad = gradient * shares[:, None, None]
        self._adam.step()

    @property
    def moments(self) -> list[list[Tensor]]:
        """What Adam remembers of what is learnt, as ``adam_moments`` has it."""
        return adam_moments(self._adam, self._parameters)


NEVER = -1e9
"""Logit of a choice that a head does not have: its chance is exactly 0."""


class Heads:
    """The D heads of N agents, padded to H heads of C choices for each agent.

    Args:
        heads: number of choices of each head of each agent.
        features: how critics see the choices of each head, float64[choices, f], D arrays; None for
            one-hots.

    Attributes:
        present: which choices there are, bool[N, 1, H, C].
        width: numbers by which critics see one choice of each head.
    """

    def __init__(
        self, heads: Sequence[Sequence[int]], features: Sequence[Floats] | None = None
    ) -> None:
        self._counts = [count for counts in heads for count in counts]
        self._agents = [agent for agent, counts in enumerate(heads) for _ in counts]
        self._places = [place for counts in heads for place in range(len(counts))]
        self._features = features
        self._widths = [each.shape[1] for each in features] if features else self._counts
        self.width = sum(self._widths)
        # Where each choice stands among its agent's, and each feature among those of all agents.
        every, exists = self._numbered(self._counts)
        firsts = np.cumsum([0, *map(sum, heads[:-1])])[:, np.newaxis, np.newaxis, np.newaxis]
        self._own = torch.from_numpy(np.where(exists, every - firsts, 0))
        self.present = torch.from_numpy(exists)
        self._every = torch.from_numpy(self._numbered(self._widths)[0])
        owner = np.repeat(self._agents, self._widths)
        self._of_others = tensor(owner != np.arange(len(heads))[:, np.newaxis, np.newaxis])
        self._tables = self._stacked(features) if features else None

    def _numbered(self, of_heads: Sequence[int]) -> tuple[Integers, Booleans]:
        """Count through some entries of each head: int64[N, 1, H, most], and where there are any.

        It is 0 where there is none.
        """
        shape = max(self._agents) + 1, 1, max(self._places) + 1, max(of_heads)
        found, exists = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=bool)
        ends = np.cumsum(of_heads)
        for agent, place, count, end in zip(
            self._agents, self._places, of_heads, ends.tolist(), strict=True
        ):
            found[agent, 0, place, :count] = np.arange(end - count, end)
            exists[agent, 0, place, :count] = True
        return found, exists

    def _stacked(self, features: Sequence[Floats]) -> Tensor:
        """Return the features of all choices, [N, H, C, F]."""
        agents, _, most, choices = self.present.shape
        tables = np.zeros((agents, most, choices, max(self._widths)))
        for agent, place, table in zip(self._agents, self._places, features, strict=True):
            tables[agent, place, : table.shape[0], : table.shape[1]] = table
        return tensor(tables)

    def apart(self, logits: Tensor) -> Tensor:
        """Return logits [N, R, A] by head, [N, R, H, C]; what is missing is never chosen."""
        index = self._own.flatten(1).unsqueeze(1).expand(-1, logits.shape[1], -1)
        found = logits.gather(2, index).unflatten(2, self._own.shape[2:])
        return found.masked_fill(~self.present, NEVER)

    def one_hots(self, logits: Tensor) -> Tensor:
        """Return 1 at the largest logit of each head and 0 elsewhere, [N, R, H, C]."""
        largest = torch.zeros_like(logits).scatter_(3, logits.argmax(dim=3, keepdim=True), 1)
        # Of a head that is missing, all are alike.
        return largest * self.present

    def chosen(self, logits: Tensor) -> Integers:
        """Return the choice with the largest logit of each head, int64[R, D]."""
        found: Integers = logits.argmax(dim=3)[self._agents, :, self._places].T.numpy()
        return found

    def encoded(self, choices: Integers) -> list[Floats32]:
        """Return choices int64[E, D] as critics see them, float32[E, w_i] of each agent."""
        parts: list[list[Floats32]] = [[] for _ in range(len(self.present))]
        for head, (agent, column) in enumerate(zip(self._agents, choices.T, strict=True)):
            table = self._features[head] if self._features else np.eye(self._counts[head])
            parts[agent].append(table[column].astype(np.float32))
        return [np.concatenate(each, axis=1) for each in parts]

    def joined(self, actions: Tensor) -> Tensor:
        """Return what critics see of actions [N, K, B, H, C] of all agents, [K, B, width]."""
        seen = self._seen(actions.flatten(1, 2)).unflatten(1, actions.shape[1:3])
        cut = zip(self._agents, self._places, self._widths, strict=True)
        return torch.cat([seen[agent, :, :, place, :width] for agent, place, width in cut], 2)

    def replaced(self, joint: Tensor, actions: Tensor) -> Tensor:
        """Return rows [N, B, J] with each agent's own actions replaced by [N, B, H, C].

        Args:
            joint: [K, B, J], K is N or 1; actions of all agents come last.
            actions: 0 where a choice is missing.
        """
        seen, taken = joint[:, :, : -self.width], joint[:, :, -self.width :] * self._of_others
        index = self._every.flatten(2).expand(-1, joint.shape[1], -1)
        changed = taken.scatter_add(2, index, self._seen(actions).flatten(2))
        return torch.cat([seen.expand(len(changed), -1, -1), changed], dim=2)

    def _seen(self, actions: Tensor) -> Tensor:
        """Return what critics see of actions [N, R, H, C], linear in them, [N, R, H, F]."""
        if self._tables is None:
            return actions
        return torch.einsum("nrhc,nhcf->nrhf", actions, self._tables)
