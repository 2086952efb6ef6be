"""The axes of a convolution, cut into pieces that a layer can say: a stride, no dilation.

Dilation. Output ``y`` reads the inputs ``s y + d r``. With ``g = gcd(s, d)``, the outputs
``y = (d / g) j + c`` of one ``c`` read ``d ((s / g) j + r) + s c``: a convolution of stride
``s / g`` without dilation over every ``d``-th input. The ``d / g`` values of ``c`` share the
filters, so they are a batch; where they do not divide the outputs, some have one output less, and
are a piece of their own. Every MAC is kept.

Transposition. Output ``y`` of a transposed convolution reads the inputs ``(y + p - d r) / s`` where
that is an integer, ``p`` being its padding. With ``g = gcd(s, d)``, the taps ``r`` of one residue
modulo ``s / g`` meet every ``s``-th output, and no other tap does: a convolution of stride 1 and
dilation ``d / g``. Each residue has filters of its own, so it is a piece of its own.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from maestro_env.base.errors import LayerError

_MOST_TAPS = 2**16


@dataclass(frozen=True)
class Piece:
    """Part of an axis.

    Args:
        size: inputs, padding included.
        window: taps of the filter.
        stride: between the inputs of two outputs.
        copies: how many such parts share their filters.
    """

    size: int
    window: int
    stride: int
    copies: int = 1


@dataclass(frozen=True)
class Axis:
    """One axis of a convolution.

    Args:
        size: inputs, without padding.
        window: taps of the filter.
        stride: between the inputs of two outputs.
        dilation: between the inputs of two taps.
        padding: before the first input and behind the last one.

    Raises:
        LayerError: there is no output.
    """

    size: int
    window: int
    stride: int = 1
    dilation: int = 1
    padding: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        _check_steps(self.window, self.stride, self.dilation)
        if self.outputs < 1:
            raise LayerError(
                f"a window of {self.window} (dilation {self.dilation}) is larger than the padded "
                f"input of {self.size + sum(self.padding)}"
            )

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        reach = (self.window - 1) * self.dilation + 1
        return (self.size + sum(self.padding) - reach) // self.stride + 1

    @property
    def macs(self) -> int:
        """Multiply-accumulates, padding included."""
        return self.outputs * self.window

    @property
    def is_dilated(self) -> bool:
        """Whether the dilation makes a difference."""
        return self.dilation > 1 and self.window > 1

    def pieces(self) -> Counter[Piece]:
        """Return the pieces of the axis, and how many there are of each."""
        if not self.is_dilated:
            return Counter([Piece(self.size + sum(self.padding), self.window, self.stride)])
        return Counter(_undilated(self.outputs, self.window, self.stride, self.dilation))


@dataclass(frozen=True)
class TransposedAxis:
    """One axis of a transposed convolution.

    Args:
        size: inputs.
        window: taps of the filter.
        outputs: number of outputs.
        stride: between the outputs of two inputs.
        dilation: between the outputs of two taps.
        begin: padding before the first output, that is outputs which are computed and cut off.

    Raises:
        LayerError: there is no output.
    """

    size: int
    window: int
    outputs: int
    stride: int = 1
    dilation: int = 1
    begin: int = 0

    def __post_init__(self) -> None:
        _check_steps(self.window, self.stride, self.dilation)
        if self.outputs < 1:
            raise LayerError(f"a transposed convolution with {self.outputs} outputs along an axis")

    @property
    def macs(self) -> int:
        """Multiply-accumulates: each input meets each tap."""
        return self.size * self.window

    @property
    def is_dilated(self) -> bool:
        """Whether the dilation makes a difference."""
        return self.dilation > 1 and self.window > 1

    def pieces(self) -> Counter[Piece]:
        """Return the pieces of the axis, and how many there are of each."""
        common = math.gcd(self.stride, self.dilation)
        step = self.stride // common
        residues = min(step, self.window)
        if residues > _MOST_TAPS:
            raise LayerError(f"a transposed window of {self.window} is too large")
        found: Counter[Piece] = Counter()
        for first in range(residues):
            taps = len(range(first, self.window, step))
            begin = (first * self.dilation - self.begin) % self.stride
            outputs = len(range(begin, self.outputs, self.stride))
            if outputs:
                found.update(_undilated(outputs, taps, 1, self.dilation // common))
        return found


def _check_steps(window: int, stride: int, dilation: int) -> None:
    if min(window, stride, dilation) < 1:
        raise LayerError(f"a window of {window}, stride {stride}, dilation {dilation}; least: 1")


def _undilated(outputs: int, window: int, stride: int, dilation: int) -> list[Piece]:
    """Cut a dilated axis into pieces without dilation."""
    if window == 1:
        dilation = 1
    common = math.gcd(stride, dilation)
    copies, stride = dilation // common, stride // common
    shorter, longer = divmod(outputs, copies)
    parts = ((shorter + 1, longer), (shorter, copies - longer))
    return [
        Piece((size - 1) * stride + window, window, stride, number)
        for size, number in parts
        if size and number
    ]
