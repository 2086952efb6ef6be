"""What a learner and its actors share: the newest weights, rows of steps, and who waits for whom.

All memory is anonymous: its file is unlinked before it is used, so nothing is left whoever is
killed. Every array has one writer, which counts last what it has written; that others see it in
this order is a property of x86-64.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from multiprocessing.sharedctypes import RawArray
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from maestro_env.base.native_learning import Perceptrons
from maestro_env.mappers.papers.quantised.quantiser import (
    Coded,
    Codes,
    Layers,
    Ranges,
    coded,
    in_integers,
)
from maestro_env.mappers.parts.arrays import Floats32

POLL_SECONDS = 2e-4
"""Seconds between two looks at what another process may have changed."""


class SharedArray:
    """An array of zeros; the processes that it is given to as they start have the same memory.

    Attributes:
        array: of the shape and dtype.
    """

    def __init__(self, shape: tuple[int, ...], dtype: DTypeLike, memory: Any = None) -> None:
        self._made = shape, np.dtype(dtype)
        self._memory = memory or RawArray("b", prod(shape) * self._made[1].itemsize)
        self.array: NDArray[Any] = np.frombuffer(self._memory, dtype).reshape(shape)

    def __reduce__(self) -> tuple[type[SharedArray], tuple[Any, ...]]:
        return SharedArray, (*self._made, self._memory)


class SharedWeights:
    """The newest weights as bytes: one process publishes them, others pull them.

    A counter is odd while they are written (a *seqlock*): who copies bytes at an odd count, or sees
    another count afterwards, copies them again.
    """

    def __init__(self, nbytes: int) -> None:
        self._bytes, self._count = SharedArray((nbytes,), np.uint8), SharedArray((1,), np.int64)

    @property
    def version(self) -> int:
        """How many times weights were published."""
        return int(self._count.array[0]) // 2

    def publish(self, packed: NDArray[np.uint8]) -> None:
        """Replace the weights."""
        count = self._count.array
        count[0] += 1
        self._bytes.array[:] = packed
        count[0] += 1

    def pull(self, into: NDArray[np.uint8]) -> int:
        """Copy the newest weights, and return their version."""
        count = self._count.array
        while True:
            before = int(count[0])
            into[:] = self._bytes.array
            if before % 2 == 0 and count[0] == before:
                return before // 2
            time.sleep(POLL_SECONDS)


class SharedRows:
    """Rows that each of some actors adds to a ring of its own, and one learner takes.

    Args:
        actors: number of rings.
        capacity: rows of a ring.
        width: numbers of a row.
    """

    def __init__(self, actors: int, capacity: int, width: int) -> None:
        self._table = SharedArray((actors, capacity, width), np.float32)
        self._added, self._taken = (SharedArray((actors,), np.int64) for _ in range(2))
        self._capacity, self.width = capacity, width

    @property
    def added(self) -> int:
        """Rows ever added, by all actors."""
        return sum(self._added.array.tolist())

    def is_full(self, actor: int) -> bool:
        """Whether an actor's ring holds only rows that were not taken yet."""
        waiting = int(self._added.array[actor]) - int(self._taken.array[actor])
        return waiting >= self._capacity

    def add(self, actor: int, row: Floats32) -> None:
        """Add a row float32[width] to an actor's ring, which is not full."""
        added = self._added.array
        self._table.array[actor, added[actor] % self._capacity] = row
        added[actor] += 1

    def take(self) -> Floats32:
        """Return the rows float32[R, width] that were not taken yet, actor by actor."""
        parts = []
        for actor, table in enumerate(self._table.array):
            ends = int(self._taken.array[actor]), int(self._added.array[actor])
            parts.append(table[np.arange(*ends) % self._capacity])
            self._taken.array[actor] = ends[1]
        return np.concatenate(parts)


@dataclass(frozen=True)
class RateLimiter:
    """Holds the rows sampled for each row inserted near a number, as that of Reverb does.

    The lead is ``spi`` * (rows inserted - ``least``) - rows sampled. Samples may not take it below
    -``tolerance``, nor an insert above ``tolerance``; the side that is ahead waits.

    Args:
        spi: samples per insert.
        batch: rows of a sample.
        least: rows inserted before the first sample.
    """

    spi: float
    batch: int
    least: int

    @property
    def tolerance(self) -> float:
        """Rows by which either side may be ahead: with less, neither could go on while both do."""
        return 2 * self.batch + self.spi

    def may_insert(self, inserted: int, sampled: int) -> bool:
        """Whether one more row may be inserted."""
        return self.spi * (inserted + 1 - self.least) - sampled <= self.tolerance

    def may_sample(self, inserted: int, sampled: int) -> bool:
        """Whether one more batch may be sampled."""
        lead = self.spi * (inserted - self.least) - sampled - self.batch
        return inserted >= self.least and lead >= -self.tolerance


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
