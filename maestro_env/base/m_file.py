"""Reads MAESTRO's mapping and hardware files as the binary does, its oddities included.

This module imports the standard library alone, so that the drop-in starts quickly.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field

_SEPARATORS = re.compile(r"[ ,\->():\t;]+")
_LEADING_INTEGER = re.compile(r"[ \t\n\v\f\r]*([+-]?)0*([0-9]*)")
_PLAIN_INTEGER = re.compile(r"[0-9]{1,10}")
_INT_MAX = 2**31 - 1
_SIGNALS = {"sigfpe": signal.SIGFPE, "abort": signal.SIGABRT, "segv": signal.SIGSEGV}

OPERATORS = ("CONV", "TRCONV", "DSCONV", "NGCONV", "GEMM")
# Known to the parser, but without a cost model: such a Type leaves the layer as it was.
_WITHOUT_MODEL = ("FC", "POOL", "LSTM")
MAPS = ("TemporalMap", "SpatialMap")
_WINDOWS = ("R", "S")


ENDS = {
    "reference_exit": "exits with an error",
    "reference_sigfpe": "divides by zero",
    "reference_abort": "aborts",
    "reference_segv": "reads invalid memory",
    "reference_undefined": "prints what uninitialised memory holds",
}
"""What the binary does with mappings that have no result, by status."""


class ReferenceDeath(Exception):
    """The binary dies on this input.

    Attributes:
        kind: ``exit``, ``sigfpe``, ``abort``, ``segv`` or ``undefined``.
        code: 255 for its own exit, minus the signal's number for a signal.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.code = -_SIGNALS[kind] if kind in _SIGNALS else 255


Directive = tuple[str, str, int, int]
"""Kind (``TemporalMap``, ``SpatialMap``, ``Cluster``), dimension, size, offset."""


@dataclass
class LayerText:
    """One layer of a mapping file: lists as written, repeats included."""

    name: str = ""
    operator: str = ""
    strides: list[tuple[str, int]] = field(default_factory=list)
    extents: list[tuple[str, int]] = field(default_factory=list)
    directives: list[Directive] = field(default_factory=list)


@dataclass
class NetworkText:
    """All layers of a mapping file, under the name of its last network."""

    name: str
    layers: list[LayerText]


def tokens(text: str) -> Iterator[tuple[int, str]]:
    """Yield the tokens of a file by line; one that begins with ``//`` ends its line."""
    for number, line in enumerate(text.split("\n"), start=1):
        for token in _SEPARATORS.split(line):
            if token.startswith("//"):
                break
            if token:
                yield number, token


def leading_integer(token: str) -> int:
    """Convert a token like C's ``atoi``: leading digits, 0 if there are none."""
    sign, digits = _LEADING_INTEGER.match(token).groups()  # type: ignore[union-attr]
    # atoi goes through a long, clamped there and cut to an int.
    value = min(int(digits[:20] or "0"), 2**63 - 1 if sign != "-" else 2**63)
    return wrap_int32(-value if sign == "-" else value)


def wrap_int32(value: int) -> int:
    """Return what a C int holds after the value overflowed it."""
    return (value + 2**31) % 2**32 - 2**31


def parse(text: str, as_network: bool = False) -> NetworkText:
    """Parse a mapping file (S1), or raise a ``ReferenceDeath`` where the binary's parser exits.

    As a network alone, dataflows are passed over, and what the binary misreads or reads over is
    refused: numbers other than plain ones, unknown strides, dimensions that say two things.
    """
    parser = _Parser(tokens(text), as_network)
    try:
        return parser.file()
    except ReferenceDeath as death:
        raise ReferenceDeath(death.kind, f"line {parser.line}: {death}") from None


class _Parser:
    def __init__(self, stream: Iterator[tuple[int, str]], as_network: bool) -> None:
        self.line = 1
        self._as_network = as_network
        self._stream = self._follow(stream)
        self._constants: dict[str, int] = {}
        # Layer names, constants and dimensions share one slot, which Type reads and clears.
        self._last_name = ""

    def _follow(self, stream: Iterator[tuple[int, str]]) -> Iterator[str]:
        for self.line, token in stream:
            yield token

    def _next(self) -> str:
        for token in self._stream:
            return token
        raise ReferenceDeath("exit", "the file ends inside a block")

    def _block(self, opened: bool = False) -> Iterator[str]:
        """Yield what begins each entry of a block, up to the closing brace."""
        if not opened and (token := self._next()) != "{":
            raise ReferenceDeath("exit", f"expected '{{', found '{token}'")
        return iter(self._next, "}")

    def _last_before_brace(self, name: str) -> str:
        for token in iter(self._next, "{"):
            name = token
        return name

    def file(self) -> NetworkText:
        network = NetworkText("", [])
        for token in self._stream:
            if token == "Constant":
                self._last_name = self._next()
                self._constants[self._last_name] = self._number(self._next())
            elif token == "Network":
                network.name = self._last_before_brace(network.name)
                self._network(network)
            elif token == "Accelerator":
                raise ReferenceDeath("exit", "an Accelerator block cannot be closed")
            elif token != "{" and "}" in token and token != "}":
                raise ReferenceDeath("exit", f"unexpected '{token}'")
            elif self._as_network:
                raise ReferenceDeath("exit", f"'{token}' is neither Constant nor Network")
        return network

    def _network(self, network: NetworkText) -> None:
        for token in self._block(opened=True):
            if token != "Layer":
                raise ReferenceDeath("exit", f"expected a Layer, found '{token}'")
            self._last_name = self._last_before_brace(self._last_name)
            network.layers.append(self._layer())

    def _layer(self) -> LayerText:
        layer = LayerText()
        parts = {
            "Type": self._type,
            "Stride": self._strides,
            "Dimensions": self._dimensions,
            "Dataflow": self._dataflow,
        }
        for token in self._block(opened=True):
            if token not in parts:
                raise ReferenceDeath("exit", f"unexpected '{token}' in a layer")
            parts[token](layer)
        if not layer.operator:
            raise ReferenceDeath("exit", "a layer needs a Type with a cost model")
        return layer

    def _type(self, layer: LayerText) -> None:
        operator = self._next()
        if operator in _WITHOUT_MODEL:
            return
        if operator not in OPERATORS:
            raise ReferenceDeath("exit", f"unknown layer type '{operator}'")
        layer.operator = operator
        layer.name = self._last_name or "Layer"
        self._last_name = ""

    def _strides(self, layer: LayerText) -> None:
        if layer.extents:
            raise ReferenceDeath("exit", "Stride after Dimensions")
        for name in self._block():
            stride = self._number(self._next())
            if self._as_network and name not in ("X", "Y"):
                raise ReferenceDeath("exit", f"a stride of '{name}'; allowed: X and Y")
            if stride < 1:
                raise ReferenceDeath("exit", f"the stride of {name} is {stride}")
            self._check_same(name, stride, layer.strides)
            layer.strides.append((name, stride))

    def _dimensions(self, layer: LayerText) -> None:
        for name in self._block():
            self._last_name = name
            extent = self._value(self._next())
            if extent == 0:
                raise ReferenceDeath("exit", f"the extent of {name} is 0")
            self._check_same(name, extent, layer.extents)
            layer.extents.append((name, extent))
        listed = dict(layer.extents)
        for axis in ("X", "Y"):
            if axis in listed and f"{axis}'" in listed and layer.operator != "GEMM":
                raise ReferenceDeath("exit", f"both {axis} and {axis}' are given")

    def _dataflow(self, layer: LayerText) -> None:
        for token in self._block():
            if self._as_network:
                continue
            if token in MAPS:
                layer.directives.append(self._map(token, layer))
            elif token == "Cluster":
                size = self._positive("cluster size", layer)
                kind = "Cluster" if self._next() in ("P", "L") else "malformed"
                layer.directives.append((kind, "", size, size))
            else:
                raise ReferenceDeath("exit", f"unexpected '{token}' in a Dataflow")

    def _map(self, kind: str, layer: LayerText) -> Directive:
        size = self._positive("tile size", layer)
        offset = self._positive("tile offset", layer)
        dim = self._next()
        if kind == "TemporalMap" and dim in _WINDOWS:
            if size != offset:
                raise ReferenceDeath("exit", f"tile size of {dim} differs from its offset")
            # Only what has been read so far is compared.
            if any(name == dim and extent != size for name, extent in layer.extents):
                raise ReferenceDeath("exit", f"tile size of {dim} differs from its extent")
        return kind, dim, size, offset

    def _positive(self, what: str, layer: LayerText) -> int:
        token = self._next()
        if token == "Sz":
            dim = self._next()
            value = dict(layer.extents).get(dim)
            if value is None:
                raise ReferenceDeath("exit", f"Sz of unknown dimension {dim}")
        else:
            value = self._value(token)
        if value <= 0:
            raise ReferenceDeath("exit", f"{what} '{token}' is not positive")
        return value

    def _value(self, token: str) -> int:
        return self._constants[token] if token in self._constants else self._number(token)

    def _number(self, token: str) -> int:
        number = leading_integer(token)
        if self._as_network and not (_PLAIN_INTEGER.fullmatch(token) and number == int(token)):
            allowed = f"integers from 0 to {_INT_MAX}, or the name of a Constant before it"
            raise ReferenceDeath("exit", f"'{token}' is no size; allowed: {allowed}")
        return number

    def _check_same(self, name: str, size: int, before: list[tuple[str, int]]) -> None:
        if self._as_network and dict(before).get(name, size) != size:
            raise ReferenceDeath(
                "exit", f"{name} is given twice, as {dict(before)[name]} and {size}"
            )


_HARDWARE = {
    "num_pes": 1,
    "l1_size_cstr": _INT_MAX,
    "l2_size_cstr": _INT_MAX,
    "noc_bw_cstr": _INT_MAX,
    "NoC_NumHops": 1,
    "offchip_bw_cstr": _INT_MAX,
}


def parse_hardware(text: str) -> dict[str, int]:
    """Parse a hardware file, or raise a ``ReferenceDeath`` at a key that cannot be read.

    A file sets everything: keys that it leaves out have the binary's defaults (S2.2).
    """
    words = [token for _, token in tokens(text)]
    keys, values = words[::2], words[1::2]
    unknown = [key for key in keys if key not in _HARDWARE]
    if unknown or len(keys) != len(values):
        problem = f"unknown key '{unknown[0]}'" if unknown else f"'{keys[-1]}' has no value"
        raise ReferenceDeath("exit", f"{problem}; a hardware file lists {', '.join(_HARDWARE)}")
    return _HARDWARE | dict(zip(keys, map(leading_integer, values), strict=True))
