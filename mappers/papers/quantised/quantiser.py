"""Affine quantisation: numbers as codes of a few bits (Krishnan et al., *QuaRL*, section 3.1).

A number is ``scale * (code - zero)``. The range of the codes always holds 0, so that 0 has a code
of its own: what fills up a layer changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maestro_env.base.errors import MaestroEnvError
from maestro_env.base.native_learning import Perceptrons, integer_perceptrons, perceptrons
from maestro_env.mappers.parts.arrays import Floats32, Integers

LEAST_BITS, MOST_BITS = 2, 16
_MOST_INTEGER_BITS = 8
FORMS = {
    "clipped": "codes of the range, what is outside takes the nearest",
    "paper": "the paper's formula, which does not clip",
    "weights": "as clipped, but weights only",
}
"""How the layers of a network are rounded."""

Ranges = Sequence[tuple[Floats32, Floats32]]
"""Of what each layer takes, float32[N] twice: the least and the greatest number."""

Coded = tuple[NDArray[np.uint8], Floats32, NDArray[np.int32]]
"""Codes [N, inputs, outputs] of a layer's weights, scales and zeros [N, outputs]."""


class QuantisationError(MaestroEnvError, ValueError):
    """Bits that no code has, or numbers that none stands for."""


@dataclass(frozen=True, eq=False)
class Codes:
    """How numbers become codes: integers from 0 to 2^bits - 1, or of any size if not ``clipped``.

    Args:
        bits: of a code, 2 to 16.
        scale: numbers between two codes, float32[...], above 0; it applies to the last axes.
        zero: the code of 0, int64[...] of the same shape; 0 where codes are not clipped.
        clipped: whether what is outside the range takes the nearest code of it. The paper's formula
            does not clip, and its codes may number 2^bits + 1 or more.
    """

    bits: int
    scale: Floats32
    zero: Integers
    clipped: bool = True

    def encoded(self, numbers: Floats32) -> Integers:
        """Return the codes of numbers, int64 of the same shape; halves go to the even code."""
        with np.errstate(over="ignore"):
            steps = np.rint(numbers / self.scale)
        if self.clipped:
            # Before they are integers, as no integer is as large as some of them.
            steps = steps.clip(-self.zero, 2**self.bits - 1 - self.zero)
        codes: Integers = steps.astype(np.int64) + self.zero
        return codes

    def decoded(self, codes: NDArray[np.integer]) -> Floats32:
        """Return the numbers of codes, float32 of the same shape."""
        numbers: Floats32 = self.scale * (codes - self.zero).astype(np.float32)
        return numbers

    def simulated(self, numbers: Floats32) -> Floats32:
        """Return the numbers that the codes of numbers stand for."""
        return self.decoded(self.encoded(numbers))


def codes_between(
    low: NDArray[np.floating], high: NDArray[np.floating], bits: int, clipped: bool = True
) -> Codes:
    """Return codes of the numbers from ``low`` to ``high``, and of 0, arrays of one shape.

    Clipped ones divide the range into 2^bits - 1 steps, so that both its ends have a code. Others
    follow the paper: a step is (|min(low, 0)| + |max(high, 0)|) / 2^bits, and 0 is the code of 0.
    Where the range is a point, all codes but that of 0 mean nothing, and the scale is 1.

    Raises:
        QuantisationError: bits outside of 2 to 16, or a range whose ends or width are not finite.
    """
    if not LEAST_BITS <= bits <= MOST_BITS:
        raise QuantisationError(f"{bits} bits; allowed: {LEAST_BITS} to {MOST_BITS}")
    low, high = np.minimum(low, 0), np.maximum(high, 0)
    with np.errstate(over="ignore", invalid="ignore"):
        width = high - low
    if not np.isfinite(width).all():
        raise QuantisationError("a range that is not finite; allowed: finite ends and width")
    steps = 2**bits - 1 if clipped else 2**bits
    # Smaller numbers have too few digits to be multiplied by codes.
    scale = np.maximum(width / steps, np.finfo(np.float32).tiny).astype(np.float32)
    scale = np.where(width > 0, scale, np.float32(1))
    zero = np.rint(-low / scale).astype(np.int64) if clipped else np.zeros(scale.shape, np.int64)
    return Codes(bits, scale, zero, clipped)


def codes_of(
    numbers: Floats32, bits: int, axes: int | tuple[int, ...] | None = None, clipped: bool = True
) -> Codes:
    """Return codes of the range that an array has, which may be empty.

    Args:
        numbers: any shape.
        bits: of a code.
        axes: that share a range; None for one range of all, others for one of each output channel.
        clipped: as of ``Codes``.

    Raises:
        QuantisationError: as of ``codes_between``.
    """
    low = numbers.min(axis=axes, initial=0, keepdims=axes is not None)
    high = numbers.max(axis=axes, initial=0, keepdims=axes is not None)
    return codes_between(np.asarray(low), np.asarray(high), bits, clipped)


@dataclass(frozen=True, eq=False)
class Layers:
    """Multilayer perceptrons of N agents of one shape.

    Args:
        weights: of each layer float32[N, inputs, outputs].
        biases: of each layer float32[N, outputs].
        activation: between layers, ``relu`` or ``tanh``.
    """

    weights: Sequence[Floats32]
    biases: Sequence[Floats32]
    activation: str

    def fused(self) -> Perceptrons:
        """Return what computes all agents' layers in one call, in floating point."""
        return perceptrons(self.weights, self.biases, self.activation)

    def quantised(self, bits: int, ranges: Ranges, kernel: str = "") -> Perceptrons:
        """Return the same in integers: weights have a range for each output.

        Args:
            bits: of weights and activations, at most 8.
            ranges: of what each layer takes.
            kernel: as of ``integer_perceptrons``.

        Raises:
            QuantisationError: more bits, or as of ``codes_between``.
        """
        if bits > _MOST_INTEGER_BITS:
            raise QuantisationError(
                f"{bits} bits; allowed for integer arithmetic: {LEAST_BITS} to {_MOST_INTEGER_BITS}"
            )
        codes = [coded(each, bits) for each in self.weights]
        return in_integers(codes, self.biases, ranges, self.activation, bits, kernel)


def coded(weights: Floats32, bits: int) -> Coded:
    """Return the codes of weights [N, inputs, outputs] of 8 bits or fewer, a range an output.

    Raises:
        QuantisationError: as of ``codes_of``.
    """
    codes = codes_of(weights, bits, axes=1)
    # What ``Codes.encoded`` does, in float32: all of it is exact, and there are many weights.
    steps = weights / codes.scale
    np.rint(steps, out=steps)
    steps += codes.zero.astype(np.float32)
    np.clip(steps, 0, 2**bits - 1, out=steps)
    return steps.astype(np.uint8), codes.scale[:, 0], codes.zero[:, 0].astype(np.int32)


def in_integers(
    weights: Sequence[Coded],
    biases: Sequence[Floats32],
    ranges: Ranges,
    activation: str,
    bits: int,
    kernel: str = "",
) -> Perceptrons:
    """Return networks of coded layers whose inputs have ranges, as of ``Layers.quantised``."""
    inputs = [codes_between(low, high, bits) for low, high in ranges]
    return integer_perceptrons(
        weights,
        biases,
        [(each.scale, each.zero.astype(np.int32)) for each in inputs],
        activation,
        2**bits - 1,
        kernel,
    )
