"""Parses layers written as text, such as ``conv:K=64,C=64,Y=58,X=58,R=3,S=3,stride=2x1``."""

from __future__ import annotations

import re

from maestro_env.base.checks import plain_integer
from maestro_env.base.errors import LayerError, quoted
from maestro_env.workloads.layer import DIMENSIONS, Layer

EXAMPLES = "conv:K=64,C=64,Y=58,X=58,R=3,S=3,stride=1 or gemm:M=1,N=1000,K=512"

_STRIDE = re.compile(r"(?P<y>[0-9]{1,10})(x(?P<x>[0-9]{1,10}))?")
_BLANK_WITHIN = re.compile(r"[0-9]\s+[0-9]")


def parse_layer(text: str) -> Layer:
    """Parse ``OPERATOR:NAME=NUMBER,...``; the text is the name of the layer.

    Args:
        text: Y and X are taken as written: input extents, padding included. ``stride=2`` strides
            both, ``stride=2x1`` gives the stride of Y, then of X; ``count=3`` is that of the layer.
            All that follows ``,name=`` is the name instead.

    Raises:
        LayerError: naming the piece at fault.
    """
    shape, named, name = text.partition(",name=")
    try:
        if _BLANK_WITHIN.search(shape):
            raise LayerError(f"layer {quoted(text)}: a blank inside a number")
        shape = "".join(shape.split())
        return _parse(shape, name if named else shape)
    except LayerError as error:
        raise LayerError(f"{error}; write a layer like {EXAMPLES}") from None


def integer(text: str, where: str = "") -> int:
    """Read a number written in digits, or raise a ``LayerError`` that begins with ``where``."""
    number = plain_integer(text)
    if number is None:
        raise LayerError(f"{where}{quoted(text)} is not an integer of at most 18 digits 0 to 9")
    return number


def _parse(text: str, name: str) -> Layer:
    prefix, _, body = text.partition(":")
    operator = prefix.upper()
    if operator not in DIMENSIONS:
        allowed = ", ".join(DIMENSIONS).lower()
        raise LayerError(
            f"layer {quoted(text)}: unknown operator {quoted(prefix)}, allowed: {allowed}"
        )
    values = _values(body)
    if operator == "GEMM" and "stride" in values:
        raise LayerError(f"layer {quoted(text)}: only convolutions have a stride")
    stride = _stride(values.pop("stride", "1"))
    count = integer(values.pop("count", "1"), "count: ")
    extents = {
        dim: integer(value, f"{quoted(f'{dim}={value}')}: ") for dim, value in values.items()
    }
    return Layer(operator, extents, stride, name, count)


def _values(body: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for piece in body.split(","):
        name, _, value = piece.partition("=")
        if not name or not value:
            raise LayerError(f"{quoted(piece)} is not of the form NAME=NUMBER")
        if name in values:
            raise LayerError(f"{quoted(piece)} gives {quoted(name)} a second time, once is allowed")
        values[name] = value
    return values


def _stride(value: str) -> tuple[int, int]:
    match = _STRIDE.fullmatch(value)
    if not match:
        raise LayerError(
            f"{quoted(f'stride={value}')} is not of the form stride=2 or stride=2x1 (Y x X)"
        )
    return int(match["y"]), int(match["x"] or match["y"])
