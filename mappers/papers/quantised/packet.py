"""Weights of a network as bytes that a learner sends to actors: of 32 or 16 bits, or codes of 8."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from maestro_env.base.perceptrons import Perceptrons
from maestro_env.mappers.papers.quantised.quantiser import (
    Coded,
    Codes,
    Layers,
    Ranges,
    coded,
    in_integers,
)
from maestro_env.mappers.parts.arrays import Floats32

SENT = {32: np.float32, 16: np.float16, 8: np.uint8}
"""Types of weights that are sent, by their bits."""

COMPUTED = (32, 8)
"""Bits that actors compute with: fused in floating point, or in integers."""

_ACTIVATION = "relu"
_CODES = 8


class Packet:
    """Weights, biases and ranges of inputs of one network, in fixed places.

    Codes are packed once, by the sender; who computes with 8 bits loads them as they are.

    Args:
        widths: of inputs, hidden layers and outputs.
        bits: of weights, one of ``SENT``.

    Attributes:
        bytes: all of it, uint8[bytes]; it may be written as well.
    """

    def __init__(self, widths: Sequence[int], bits: int) -> None:
        self._bits = bits
        layers = [_layer(before, after, bits) for before, after in pairwise(widths)]
        self.bytes: NDArray[np.uint8] = np.zeros(sum(each.itemsize for each in layers), np.uint8)
        ends = np.cumsum([0, *(each.itemsize for each in layers)])
        self._layers = [
            self.bytes[start:end].view(layer)
            for layer, (start, end) in zip(layers, pairwise(ends), strict=True)
        ]

    def pack(self, layers: Layers, ranges: Ranges) -> None:
        """Replace all, by the layers of one network and the ranges that their inputs have."""
        each = zip(self._layers, layers.weights, layers.biases, ranges, strict=True)
        for place, weights, biases, (low, high) in each:
            place["biases"], place["low"], place["high"] = biases, low, high
            if self._bits == _CODES:
                place["weights"], place["scales"], place["zeros"] = coded(weights, _CODES)
            else:
                place["weights"] = weights

    def load(self, bits: int) -> Perceptrons:
        """Return what computes the network, with bits of ``COMPUTED``."""
        biases = [place["biases"] for place in self._layers]
        ranges = [(place["low"], place["high"]) for place in self._layers]
        if bits == self._bits == _CODES:
            return in_integers(self._codes(), biases, ranges, _ACTIVATION, bits)
        layers = Layers(self._weights(), biases, _ACTIVATION)
        return layers.quantised(bits, ranges) if bits == _CODES else layers.fused()

    def _codes(self) -> list[Coded]:
        return [(place["weights"], place["scales"], place["zeros"]) for place in self._layers]

    def _weights(self) -> list[Floats32]:
        if self._bits != _CODES:
            return [place["weights"].astype(np.float32) for place in self._layers]
        return [_decoded(*codes) for codes in self._codes()]


def _decoded(codes: NDArray[np.uint8], scales: Floats32, zeros: NDArray[np.int32]) -> Floats32:
    of_weights = Codes(_CODES, scales[:, np.newaxis], zeros[:, np.newaxis].astype(np.int64))
    return of_weights.decoded(codes)


def _layer(before: int, after: int, bits: int) -> np.dtype[np.void]:
    """Return the places of one layer, with the leading axis of ``Layers``' one network."""
    places = [("weights", SENT[bits], (before, after)), ("biases", np.float32, (after,))]
    if bits == _CODES:
        places += [("scales", np.float32, (after,)), ("zeros", np.int32, (after,))]
    # Numbers lie at multiples of their size.
    return np.dtype([*places, ("low", np.float32), ("high", np.float32)], align=True)
