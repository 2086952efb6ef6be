"""What mappers learn with in the C++ core: perceptrons, sparse matrices, and agents.

``SparseLinks`` are the n weights of a matrix [inputs, outputs] that exist, output after output, at
``places`` of the matrix laid out flat. What a layer takes and gives has a column for each row of a
batch, so that a weight meets numbers that lie next to each other; the bits of a column do not
depend on the others.

``Team`` are A agents with a network each and D heads of L choices in all, which learn by PPO: first
weights of two hidden layers are float32[A, 4, 64] and [A, 64, 64], those from there to the choices
float32[L, 64], to the critics' values [A, 64]. ``StatelessAgents`` have no networks. They draw from
numpy's ``Generator`` in its order, ``bits`` being the capsule of its bits; functions such as exp
are numpy's own, and sums have its order. So results have the bits that formulas of numpy give.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from maestro_env import _native
from maestro_env._native import Heads as Heads
from maestro_env._native import SparseLinks as SparseLinks
from maestro_env._native import StatelessAgents as StatelessAgents
from maestro_env._native import Team as Team
from maestro_env._native import best_samples as best_samples
from maestro_env._native import redrawn as redrawn

KERNELS = _native.KERNELS
"""Instruction sets of this processor for integer layers, the fastest last; all give equal bits."""

COLUMNS = 16
"""Columns of ``SparseLinks`` come in multiples of it."""

_Floats = NDArray[np.float32]


class Perceptrons(Protocol):
    """N agents' networks of one shape."""

    def run(self, inputs: _Floats, calls: int = 1) -> _Floats:
        """Return the outputs float32[N, B, outputs] of inputs float32[N, B, inputs].

        Inputs float32[B, inputs] are those of every agent. The bits are the same on every
        processor, but equal those of other libraries only nearly: sums have another order.

        Args:
            inputs: as above.
            calls: how often the core computes them, 1 or more, to be timed without Python.

        Raises:
            ValueError: inputs of another shape.
        """


def perceptrons(
    weights: Sequence[_Floats], biases: Sequence[_Floats], activation: str
) -> Perceptrons:
    """Make networks in 32-bit floating point.

    Args:
        weights: of each layer float32[N, inputs, outputs].
        biases: of each layer float32[N, outputs].
        activation: between layers, ``relu`` or ``tanh``.

    Raises:
        ValueError: shapes that do not fit each other, or another activation.
    """
    return _native.Perceptrons(list(weights), list(biases), activation)


def integer_perceptrons(
    weights: Sequence[tuple[NDArray[np.uint8], _Floats, NDArray[np.int32]]],
    biases: Sequence[_Floats],
    inputs: Sequence[tuple[_Floats, NDArray[np.int32]]],
    activation: str,
    most: int,
    kernel: str = "",
) -> Perceptrons:
    """Make networks whose products are of integers; a number is scale * (code - zero).

    Args:
        weights: of each layer codes uint8[N, inputs, outputs]; scales float32[N, outputs] and
            zeros int32[N, outputs].
        biases: of each layer float32[N, outputs].
        inputs: of each layer scale float32[N] and zero int32[N] of the codes that its inputs get.
        activation: between layers, ``relu`` or ``tanh``.
        most: the largest code, at most 255.
        kernel: one of ``KERNELS``; empty for the fastest.

    Raises:
        ValueError: as of ``perceptrons``, or a kernel that this processor lacks.
    """
    codes, scales, zeros = (list(each) for each in zip(*weights, strict=True))
    input_scales, input_zeros = (list(each) for each in zip(*inputs, strict=True))
    return _native.QuantisedPerceptrons(
        codes, scales, zeros, list(biases), input_scales, input_zeros, activation, most, kernel
    )
