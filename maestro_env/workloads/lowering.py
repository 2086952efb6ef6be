"""Writes what an operator computes as layers, one way for all sources of networks.

The axes of a convolution are cut into pieces that a layer can say: a stride, no dilation.

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
from itertools import product

from maestro_env.base.errors import LayerError
from maestro_env.workloads.layer import Layer, short_name

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


@dataclass(frozen=True)
class Convolution:
    """A convolution, transposed or not.

    Args:
        batch: inputs that share the filters.
        groups: of channels; each group has filters of its own.
        inputs: channels of a group that enter.
        outputs: channels of a group that leave.
        axes: one or two can be lowered.
    """

    batch: int
    groups: int
    inputs: int
    outputs: int
    axes: tuple[Axis, ...] | tuple[TransposedAxis, ...]

    @property
    def macs(self) -> int:
        """Multiply-accumulates, padding included."""
        channels = self.batch * self.groups * self.inputs * self.outputs
        return channels * math.prod(axis.macs for axis in self.axes)

    @property
    def notes(self) -> tuple[str, ...]:
        """What its layers approximate."""
        dilated = any(axis.is_dilated for axis in self.axes)
        transposed = any(isinstance(axis, TransposedAxis) for axis in self.axes)
        return (DILATED,) * dilated + (TRANSPOSED,) * transposed

    def layers(self, name: str) -> list[Layer]:
        """Return its layers, whose counts may exceed 1."""
        if len(self.axes) > 2:
            raise LayerError(f"a convolution over {len(self.axes)} axes; allowed: 1 or 2")
        last = {Piece(1, 1, 1): 1}
        rows, columns = (*(axis.pieces() for axis in self.axes), last)[:2]
        pieces = product(rows.items(), columns.items())
        return [self._layer(name, y, x, y_times * x_times) for (y, y_times), (x, x_times) in pieces]

    def _layer(self, name: str, y: Piece, x: Piece, times: int) -> Layer:
        batch = self.batch * y.copies * x.copies
        operator, channels = self._channels()
        window = {"Y": y.size, "X": x.size, "R": y.window, "S": x.window}
        several = {"N": batch} if batch > 1 else {}
        return Layer(operator, channels | window | several, (y.stride, x.stride), name, times)

    def _channels(self) -> tuple[str, dict[str, int]]:
        within = {"K": self.outputs, "C": self.inputs}
        if self.groups == 1:
            return "CONV", within
        if self.inputs == self.outputs == 1:
            return "DSCONV", {"C": self.groups}
        return "NGCONV", {"G": self.groups, **within}


@dataclass(frozen=True)
class Product:
    """Matrix products, rows x inner times inner x columns.

    Args:
        rows: of the left matrix and of the result.
        inner: columns of the left matrix, rows of the right one.
        columns: of the right matrix and of the result.
        times: number of products; each has two matrices of its own.
        part: what it is of an operator that has several.
        notes: what is approximated.
    """

    rows: int
    inner: int
    columns: int
    times: int = 1
    part: str = ""
    notes: tuple[str, ...] = ()

    @property
    def macs(self) -> int:
        """Multiply-accumulates of all products."""
        return self.rows * self.inner * self.columns * self.times

    def layers(self, name: str) -> list[Layer]:
        """Return one layer, executed for each product."""
        extents = {"M": self.rows, "N": self.columns, "K": self.inner}
        full_name = f"{name}.{self.part}" if self.part else name
        return [Layer("GEMM", extents, name=short_name(full_name), count=self.times)]


class NotMapped(LayerError):
    """An operator whose MACs are known, but that no layer can say."""

    def __init__(self, macs: int, reason: str) -> None:
        super().__init__(reason)
        self.macs = macs


Work = Convolution | Product

DILATED = (
    "dilation: the outputs whose inputs are interleaved become a batch of convolutions without "
    "dilation"
)
TRANSPOSED = (
    "transposed convolution: the taps that meet the same outputs become a convolution of stride 1, "
    "with zeros around the input"
)
GROUPED = (
    "grouped queries: every query head is a product of its own, also where heads share keys and "
    "values"
)
