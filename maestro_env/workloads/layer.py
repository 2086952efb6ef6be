"""A DNN layer: an operator and the extents of its dimensions; its text, as gemm:M=8,N=8,K=8."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

from maestro_env import _native
from maestro_env.base.checks import (
    INTEGER,
    MAX_NAME,
    read_entries,
    require_integer,
    require_name,
    require_type,
)
from maestro_env.base.errors import ArgumentTypeError, LayerError, printable, quoted
from maestro_env.base.pickling import Recomputed

_WINDOWS = (("Y", "R"), ("X", "S"))
_CONVOLUTION = ("K", "C", "Y", "X", "R", "S")

DIMENSIONS: Mapping[str, tuple[str, ...]] = {
    "CONV": _CONVOLUTION,
    "TRCONV": _CONVOLUTION,
    "DSCONV": ("C", "Y", "X", "R", "S"),
    "NGCONV": ("G", *_CONVOLUTION),
    "GEMM": ("M", "N", "K"),
}
"""The dimensions each operator needs; convolutions may add a batch dimension ``N``."""

_MAX_MACS = 2**62


@dataclass(frozen=True)
class Layer(Recomputed):
    """One layer of a network.

    Args:
        operator: ``CONV``, ``TRCONV`` (computed as ``CONV``, like MAESTRO does), ``DSCONV``
            (depthwise), ``NGCONV`` (grouped; C and K per group) or ``GEMM``.
        extents: extent of every dimension of the operator. Y and X are input rows and columns,
            padding included; a GEMM multiplies M x K by K x N.
        stride: of Y and of X.
        name: in tables and files, at most 200 characters.
        count: how often the network executes it.

    Raises:
        ArgumentTypeError: an argument of a wrong type.
        LayerError: a missing, unknown or impossible dimension or stride.
    """

    operator: str
    extents: Mapping[str, int]
    stride: tuple[int, int] = (1, 1)
    name: str = ""
    count: int = 1

    def __post_init__(self) -> None:
        require_name("a layer's name", self.name, LayerError, "such as mobilenetv2_l2")
        require_type("a layer's operator", self.operator, str, f"one of {', '.join(DIMENSIONS)}")
        require_type("a layer's extents", self.extents, Mapping, "such as {'K': 16}")
        self._check_dimensions()
        self._check_numbers()
        self._check_window()
        if math.prod(self.loop_extents.values()) >= _MAX_MACS:
            raise LayerError(f"layer {self}: more than 2^62 MACs; make it smaller")

    def __hash__(self) -> int:
        return hash((self.operator, tuple(self.extents.items()), self.stride, self.name))

    def __str__(self) -> str:
        return self.name or f"{self.operator} {self.dimensions}"

    @property
    def shape(self) -> str:
        """Operator and dimensions: layers of one shape cost the same."""
        return f"{self.operator} {self.dimensions}"

    @property
    def dimensions(self) -> str:
        """Extents and strides in short, such as ``K16 C32 Y112 X112 R1 S1``."""
        text = " ".join(f"{name}{extent}" for name, extent in self.extents.items())
        return text + (" stride {}x{}".format(*self.stride) if self.is_strided else "")

    @property
    def is_convolution(self) -> bool:
        """Whether the operator has a window, R x S: all but ``GEMM``."""
        return self.operator != "GEMM"

    @property
    def is_strided(self) -> bool:
        """Whether the stride of Y or of X is more than 1."""
        return self.stride != (1, 1)

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one execution."""
        return self._facts["macs"]

    @property
    def input_words(self) -> int:
        """Distinct input words some MAC touches."""
        return self._facts["input_words"]

    @property
    def filter_words(self) -> int:
        """Words of the filters; of a GEMM, of the K x N matrix."""
        return self._facts["filter_words"]

    @property
    def output_words(self) -> int:
        """Words of the output."""
        return self._facts["output_words"]

    @property
    def loop_extents(self) -> dict[str, int]:
        """Extent of every dimension a mapping cuts: Y and X count outputs, as Y' and X'."""
        windows = zip(_WINDOWS, self.stride, strict=True) if self.is_convolution else ()
        outputs = {
            axis: (self.extents[axis] - self.extents[window]) // stride + 1
            for (axis, window), stride in windows
        }
        return {
            (f"{name}'" if name in outputs else name): outputs.get(name, extent)
            for name, extent in self.extents.items()
        }

    @cached_property
    def native(self) -> _native.Layer:
        """The layer as the C++ core holds it."""
        strides = list(zip(("Y", "X"), self.stride, strict=True)) if self.is_convolution else []
        return _native.Layer(self.operator, list(self.extents.items()), strides)

    @property
    def _allowed(self) -> tuple[str, ...]:
        dims = DIMENSIONS[self.operator]
        return (*dims, "N") if self.is_convolution else dims

    @cached_property
    def _facts(self) -> dict[str, int]:
        return self.native.facts()

    def _check_dimensions(self) -> None:
        if self.operator not in DIMENSIONS:
            allowed = ", ".join(DIMENSIONS)
            raise LayerError(f"unknown operator {quoted(self.operator)}: allowed: {allowed}")
        needed = DIMENSIONS[self.operator]
        missing = [name for name in needed if name not in self.extents]
        unknown = [name for name in self.extents if name not in self._allowed]
        if missing or unknown:
            problem = f"lacks {missing[0]}" if missing else f"has no dimension {quoted(unknown[0])}"
            raise self._error(
                f"a {self.operator} {problem}; dimensions: {', '.join(self._allowed)}"
            )

    def _check_numbers(self) -> None:
        def number(what: str, value: object) -> int:
            return require_integer(f"layer {self.name or self.operator}: {what}", value, LayerError)

        given = [name for name in self._allowed if name in self.extents]
        extents = {name: number(name, self.extents[name]) for name in given}
        object.__setattr__(self, "extents", MappingProxyType(extents))
        try:
            stride_y, stride_x = self.stride
        except (TypeError, ValueError) as problem:
            error = self._error(
                f"stride is {quoted(self.stride)}; allowed: a pair, the strides of Y and X"
            )
            raise (
                ArgumentTypeError(str(error)) if isinstance(problem, TypeError) else error
            ) from None
        stride = (number("stride of Y", stride_y), number("stride of X", stride_x))
        object.__setattr__(self, "stride", stride)
        object.__setattr__(self, "count", number("count", self.count))
        if not self.is_convolution and self.is_strided:
            raise self._error("a GEMM has no stride")

    def _check_window(self) -> None:
        for axis, window in _WINDOWS if self.is_convolution else ():
            size, extent = self.extents[window], self.extents[axis]
            if size > extent:
                raise self._error(
                    f"the window {window} = {size} is larger than the input {axis} = {extent}; "
                    f"enlarge {axis} (padding counts) or shrink {window}"
                )

    def _error(self, problem: str) -> LayerError:
        return LayerError(f"layer {self.name or self.operator}: {problem}")


LOOPS = ("N", "G", "K", "C", "Y'", "X'", "R", "S")
"""The canonical loop nest, the same for every operator.

A matrix product is a convolution with a window of one element, whose rows are output rows; a
depthwise convolution has one channel per group.
"""

# The loop that a dimension stands for, where it has another name.
_ROLES: Mapping[str, Mapping[str, str]] = {
    "GEMM": {"M": "Y'", "N": "K", "K": "C"},
    "DSCONV": {"C": "G"},
}


def loop_of(layer: Layer, dim: str) -> str:
    """Return the loop that a dimension of a layer stands for."""
    return _ROLES.get(layer.operator, {}).get(dim, dim)


def nest(layer: Layer) -> dict[str, int]:
    """Return the extents of all eight loops, in the order of ``LOOPS``."""
    extents = {loop_of(layer, dim): extent for dim, extent in layer.loop_extents.items()}
    return {loop: extents.get(loop, 1) for loop in LOOPS}


EXAMPLES = "conv:K=64,C=64,Y=58,X=58,R=3,S=3,stride=1 or gemm:M=1,N=1000,K=512"

_PAIR = re.compile(r"(?P<y>[0-9]{1,10})(x(?P<x>[0-9]{1,10}))?")
_BLANK_WITHIN = re.compile(r"[0-9]\s+[0-9]")
_OPERATORS = {"CONV2D": "CONV", "MATMUL": "GEMM"}
_SAME: Mapping[str, str] = {"H": "Y", "W": "X", "pad": "padding"}
_TWO_PRODUCTS = (
    "an attention is two products, of HEADS heads, L queries, S keys and heads of E: the scores "
    "gemm:M=L,N=S,K=E,count=HEADS and the context gemm:M=L,N=E,K=S,count=HEADS"
)


def parse_layer(text: str) -> Layer:
    """Parse ``OPERATOR:NAME=NUMBER,...``; the text is the name of the layer.

    Args:
        text: Y and X, or H and W, are input extents, padding included; ``padding=1`` adds it on
            both sides of both, ``padding=1x0`` to Y and to X. ``stride=2`` strides both,
            ``stride=2x1`` gives the stride of Y, then of X; ``count=3`` is that of the layer.
            All that follows ``,name=`` is the name instead.

    Raises:
        LayerError: naming the piece at fault.
    """
    shape, *name = re.split(r",\s*name=", text, maxsplit=1)
    try:
        if _BLANK_WITHIN.search(shape):
            raise LayerError(f"layer {quoted(text)}: a blank inside a number")
        shape = "".join(shape.split())
        return _parsed(shape, name[0] if name else shape)
    except LayerError as error:
        raise LayerError(f"{error}; write a layer like {EXAMPLES}") from None


def _parsed(text: str, name: str) -> Layer:
    prefix, _, body = text.partition(":")
    operator, where = prefix.upper(), f"layer {quoted(text)}"
    operator = _OPERATORS.get(operator, operator)
    if operator == "ATTENTION":
        raise LayerError(f"{where}: {_TWO_PRODUCTS}")
    if operator not in DIMENSIONS:
        allowed = ", ".join(DIMENSIONS).lower()
        raise LayerError(f"{where}: unknown operator {quoted(prefix)}, allowed: {allowed}")
    readers = dict.fromkeys((*DIMENSIONS[operator], "count"), INTEGER)
    convolves = operator != "GEMM"
    if convolves:
        readers |= {
            "N": INTEGER,
            "stride": (_pair, "stride=2 or stride=2x1 (Y x X)"),
            "padding": (_pair, "padding=1 or padding=1x0 (Y x X, on both sides)"),
        }
    pairs = (piece.partition("=")[::2] for piece in body.split(","))
    same: Mapping[str, str] = _SAME if convolves else {}
    written = ((where, same.get(key, key), value) for key, value in pairs)
    values: dict[str, Any] = read_entries(written, readers, LayerError)
    stride, count = values.pop("stride", (1, 1)), values.pop("count", 1)
    for axis, padding in zip("YX", values.pop("padding", (0, 0)), strict=True):
        if axis in values:
            values[axis] += 2 * padding
    return Layer(operator, values, stride, name, count)


def short_name(text: str) -> str:
    """Return a name of a source of layers as one printable line of at most 200 characters."""
    return printable(text)[:MAX_NAME] or "unnamed"


def _pair(text: str) -> tuple[int, int] | None:
    match = _PAIR.fullmatch(text)
    return (int(match["y"]), int(match["x"] or match["y"])) if match else None
