"""What mappers learn with in the C++ core: perceptrons, sparse matrices, agents without networks.

Agents draw from numpy's ``Generator`` in its order, ``bits`` being the capsule of its bits;
functions such as exp are numpy's own, and sums have its order. So results have the bits that
formulas of numpy give.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from maestro_env import _native
from maestro_env._native import Heads as Heads
from maestro_env._native import StatelessAgents as StatelessAgents
from maestro_env._native import best_samples as best_samples
from maestro_env._native import redrawn as redrawn

KERNELS = _native.KERNELS
"""Instruction sets of this processor for integer layers, the fastest last; all give equal bits."""

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


class Team(Protocol):
    """Agents with a network each that learn by PPO."""

    def draw(self, seen: _Floats, uniform: NDArray[np.float64]) -> NDArray[np.int64]:
        """Draw actions int64[N, D] by uniform numbers float64[N, D], having seen float32[N, 4]."""

    def learn(
        self, actions: NDArray[np.int64], rewards: NDArray[np.float64], imitated: _Floats | None
    ) -> None:
        """Learn from rewards float64[N] of the last actions, and imitate shares float32[L]."""

    def chances(self) -> _Floats:
        """Return the probability of every choice in view of the last row seen, float32[L]."""


def team(
    choices: Sequence[int],
    owners: Sequence[int],
    logits: _Floats,
    policy: Sequence[_Floats],
    critic: Sequence[_Floats],
    outputs: _Floats,
    values: _Floats,
    rule: dict[str, float],
) -> Team:
    """Make a team of A agents with D heads of L choices in all.

    Args:
        choices: of each head.
        owners: the agent of each head.
        logits: fixed part of those of all choices, float32[L].
        policy: first weights of two hidden layers, float32[A, 4, 64] and [A, 64, 64].
        critic: the same of the critics.
        outputs: first weights from the last hidden layer to the choices, float32[L, 64].
        values: the same to the critics' values, float32[A, 64].
        rule: ``rate`` of Adam, ``clip``, weights of ``entropy`` and ``imitation``, ``epochs`` and
            ``most_change``, the largest logarithm of a ratio.

    Raises:
        ValueError: arrays that do not fit each other.
    """
    return _native.Team(list(choices), list(owners), logits, policy, critic, outputs, values, rule)


COLUMNS = 16
"""Columns come in multiples of it."""


class SparseLinks(Protocol):
    """The weights of a matrix [inputs, outputs] that exist, n of them, output after output.

    What a layer takes and gives has a column for each row of a batch, C of them, so that a weight
    meets numbers that lie next to each other. All raise ValueError for arrays of other shapes.
    """

    @property
    def places(self) -> NDArray[np.int64]:
        """Where the weights stand in the matrix laid out flat, int64[n]."""

    def forward(self, weights: _Floats, biases: _Floats, inputs: _Floats) -> _Floats:
        """Return float32[outputs, C] of inputs float32[inputs, C].

        The bits of a column do not depend on the others.

        Args:
            weights: float32[n].
            biases: float32[outputs].
            inputs: as above.
        """

    def backward(
        self, weights: _Floats, inputs: _Floats, of_outputs: _Floats, to_inputs: bool
    ) -> tuple[_Floats, _Floats | None]:
        """Return the gradients of weights, float32[n], and, if asked for, inputs.

        Args:
            weights: float32[n].
            inputs: float32[inputs, C].
            of_outputs: gradients, float32[outputs, C].
            to_inputs: whether those of the inputs are wanted.
        """


def sparse_links(mask: NDArray[np.bool_]) -> SparseLinks:
    """Make the links of a mask, bool[inputs, outputs].

    Raises:
        ValueError: a mask of another shape, or of more than 2^30 entries.
    """
    return _native.SparseLinks(mask)
