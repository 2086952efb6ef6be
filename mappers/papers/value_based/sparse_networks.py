"""Networks that compute with the weights that exist, and with no others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.nn.functional import pad

from maestro_env.mappers.papers.off_policy.networks import Networks
from maestro_env.mappers.papers.sparse.products import SparseLayer, columns


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
