"""Writes what an operator computes as layers: one way for all sources of networks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

from maestro_env.base.errors import LayerError
from maestro_env.workloads.axes import Axis, Piece, TransposedAxis
from maestro_env.workloads.layer import Layer
from maestro_env.workloads.network import short_name


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
