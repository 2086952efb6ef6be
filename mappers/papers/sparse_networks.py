"""Networks that compute with the weights that exist alone: layers, and the operations they take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from maestro_env.base.native_learning import COLUMNS, SparseLinks
from maestro_env.mappers.papers.stacked_networks import Networks


class SparseLayer:
    """The weights of a layer of N networks that exist: K of the network that has most.

    Args:
        mask: 1 where a weight exists, [N, I, O].
        shapes: inputs and outputs of each network; the others of its mask are padding.
    """

    def __init__(self, mask: Tensor, shapes: Sequence[tuple[int, int]]) -> None:
        self._shape = mask.shape
        every = mask.numpy().astype(np.bool_)
        cut = [
            np.ascontiguousarray(each[:inputs, :outputs])
            for each, (inputs, outputs) in zip(every, shapes, strict=True)
        ]
        self._links = [SparseLinks(each) for each in cut]
        self._counts = [len(each.places) for each in self._links]
        self._outputs = [outputs for _, outputs in shapes]
        whole = np.arange(mask.numel()).reshape(mask.shape)
        few = np.arange(len(shapes) * max(self._counts)).reshape(len(shapes), -1)
        own = zip(whole, few, self._links, shapes, strict=True)
        places = [
            (every[:inputs, :outputs].ravel()[links.places], slots[: len(links.places)])
            for every, slots, links, (inputs, outputs) in own
        ]
        self._places, self._slots = (
            torch.from_numpy(np.concatenate(each)) for each in zip(*places, strict=True)
        )

    def taken(self, whole: Tensor) -> Tensor:
        """Return what exists of numbers [N, I, O], [N, 1, K], filled up by zeros."""
        found = torch.zeros(self._shape[0] * max(self._counts))
        found[self._slots] = whole.detach().reshape(-1)[self._places]
        return found.reshape(self._shape[0], 1, -1)

    def spread(self, few: Tensor) -> Tensor:
        """Return numbers [N, 1, K] where they belong, [N, I, O], and 0 elsewhere."""
        found = torch.zeros(self._shape)
        found.view(-1)[self._places] = few.detach().reshape(-1)[self._slots]
        return found

    def outputs(self, inputs: Sequence[Tensor], few: Tensor, biases: Tensor) -> list[Tensor]:
        """Return the outputs [o, C] of every network.

        Args:
            inputs: of every network, [i, C] as ``columns`` makes them.
            few: weights that exist, [N, 1, K].
            biases: [N, 1, O].
        """
        own = zip(
            *(inputs, few.unbind(), biases.unbind()),
            *(self._counts, self._outputs, self._links),
            strict=True,
        )
        return [
            _Product.apply(each, weights[0, :count], bias[0, :outputs], links)
            for each, weights, bias, count, outputs, links in own
        ]


def columns(rows: Tensor) -> Tensor:
    """Return rows [B, I] as columns [I, C], filled up by zeros to as many as the core takes."""
    return pad(rows.T, (0, -len(rows) % COLUMNS)).contiguous()


class _Product(torch.autograd.Function):  # type: ignore[misc]
    """Outputs [O, C] of inputs [I, C] by weights [n] that exist and biases [O]."""

    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, weights: Tensor, biases: Tensor, links: SparseLinks
    ) -> Tensor:
        ctx.save_for_backward(inputs, weights)
        ctx.links = links
        return torch.from_numpy(links.forward(weights.numpy(), biases.numpy(), inputs.numpy()))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        inputs, weights = ctx.saved_tensors
        of_outputs = gradients[0].contiguous()
        of_weights, of_inputs = ctx.links.backward(
            weights.numpy(), inputs.numpy(), of_outputs.numpy(), ctx.needs_input_grad[0]
        )
        found = None if of_inputs is None else torch.from_numpy(of_inputs)
        return found, torch.from_numpy(of_weights), of_outputs.sum(dim=1), None


PER_LINK = 2
"""Operations of a weight for a row."""


class FlopMeter:
    """Adds up operations by what they are for.

    Attributes:
        spent: operations so far, by purpose.
    """

    def __init__(self) -> None:
        self.spent: Counter[str] = Counter()

    @property
    def total(self) -> int:
        """Operations so far."""
        return self.spent.total()

    def forward(self, purpose: str, links: int, rows: int) -> None:
        """Add what outputs of rows take."""
        self.spent[purpose] += PER_LINK * links * rows

    def update(self, purpose: str, links: int, rows: int) -> None:
        """Add what outputs of rows and the gradients of links and inputs take."""
        self.forward(purpose, 3 * links, rows)

    def dense_gradients(self, purpose: str, links: int, weights: int, rows: int) -> None:
        """Add what outputs of rows and the gradients of inputs and of all weights take.

        The gradient of a weight that does not exist is needed where the steepest grow.
        """
        self.forward(purpose, 2 * links + weights, rows)


class SparseNetworks(Networks):
    """Networks that learn vectors of the weights that exist, once ``keep`` has said which.

    ``parameters``, with zeros where no weight exists, follow what is learnt only in ``whole``.
    """

    _layers: Sequence[SparseLayer] = ()
    _all = False

    @property
    def trained(self) -> list[Tensor]:
        return self._trained

    @contextmanager
    def whole(self) -> Iterator[None]:
        for layer, few, weights in zip(
            self._layers, self.trained[::2], self.parameters[::2], strict=True
        ):
            weights.data = layer.spread(few)
        self._all = True
        try:
            yield
        finally:
            self._all = False

    def spread(self, few: Sequence[Tensor]) -> list[Tensor]:
        found = list(few)
        found[::2] = [
            layer.spread(each) for layer, each in zip(self._layers, few[::2], strict=True)
        ]
        return found

    def keep(
        self,
        masks: Sequence[Tensor],
        moments: Sequence[Sequence[Tensor]] = (),
        spread: Sequence[Sequence[Tensor]] = (),
    ) -> None:
        first = not self._layers
        self._layers = [
            SparseLayer(mask, shapes) for mask, shapes in zip(masks[::2], self.shapes, strict=True)
        ]
        if first:
            self._trained = list(self.parameters)
            self._trained[::2] = [
                layer.taken(weights).requires_grad_()
                for layer, weights in zip(self._layers, self.parameters[::2], strict=True)
            ]
        for few, whole in zip((self.trained, *moments), (self.parameters, *spread), strict=True):
            for layer, old, new in zip(self._layers, few[::2], whole[::2], strict=True):
                old.data = layer.taken(new)

    def copy(self) -> SparseNetworks:
        other = super().copy()
        other._trained = [each.detach().clone() for each in self.trained]
        return other

    def __call__(self, inputs: Tensor) -> Tensor:
        if self._all:
            return super().__call__(inputs)
        hidden = [
            columns(rows[:, :width])
            for rows, (width, _) in zip(inputs, self.shapes[0], strict=True)
        ]
        for number, layer in enumerate(self._layers):
            if number:
                hidden = [each.relu_() for each in hidden]
            hidden = layer.outputs(hidden, *self.trained[2 * number : 2 * number + 2])
        rows, most = inputs.shape[1], self.parameters[-1].shape[2]
        return torch.stack([pad(each.T[:rows], (0, most - len(each))) for each in hidden])
