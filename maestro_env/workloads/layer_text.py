"""Layers written out, such as ``conv:K=64,C=64,H=56,W=56,R=3,S=3,padding=1``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from maestro_env.base.checks import INTEGER, read_entries
from maestro_env.base.errors import LayerError, quoted
from maestro_env.workloads.layer import DIMENSIONS, Layer

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


def _pair(text: str) -> tuple[int, int] | None:
    match = _PAIR.fullmatch(text)
    return (int(match["y"]), int(match["x"] or match["y"])) if match else None
