"""Finds layers: in the zoo, from a text, or in a GAMMA file."""

from __future__ import annotations

import re
from collections.abc import Sequence

from maestro_env.base.checks import require_type
from maestro_env.base.errors import LayerError, close_matches, quoted
from maestro_env.workloads.custom import EXAMPLES, parse_layer
from maestro_env.workloads.files.gamma_csv import read_gamma_csv
from maestro_env.workloads.layer import Layer
from maestro_env.workloads.zoo import models

__all__ = [
    "all_layers",
    "find_layer",
    "layers_by_name",
    "models",
    "parse_layer",
    "read_gamma_csv",
]

_CSV_ROW = re.compile(r"(?P<path>.+\.csv)(?::(?P<row>.*))?", re.IGNORECASE | re.DOTALL)


def all_layers() -> tuple[Layer, ...]:
    """Return every layer of the zoo, network by network."""
    return tuple(layer for layers in models().values() for layer in layers)


def layers_by_name() -> dict[str, Layer]:
    """Return every layer of the zoo by its name."""
    return {layer.name: layer for layer in all_layers()}


def find_layer(text: str | Layer) -> Layer:
    """Return the layer a text names, or the layer itself.

    Args:
        text: a name from the zoo (``mobilenetv2_l2``), a layer written out (``gemm:M=1,N=8,K=8``),
            or a row of a GAMMA file, counted from 0 (``nets/mine.csv:3``); a file with one layer
            needs no row.

    Raises:
        ArgumentTypeError: neither a text nor a ``Layer``.
        LayerError: the text names no layer, or one that cannot be computed.
    """
    if isinstance(text, Layer):
        return text
    require_type("layer", text, str, f"such as mobilenetv2_l2 or {EXAMPLES}, or a Layer")
    if match := _CSV_ROW.fullmatch(text):
        return _pick(read_gamma_csv(match["path"]), text, match["row"])
    if ":" in text:
        return parse_layer(text)
    zoo = layers_by_name()
    if text not in zoo:
        raise LayerError(
            f"unknown layer {quoted(text)}: {close_matches(text.lower(), zoo)}allowed: a name "
            "that `maestro-env layers` prints, FILE.csv:ROW, or " + EXAMPLES
        )
    return zoo[text]


def _pick(layers: Sequence[Layer], text: str, row: str | None) -> Layer:
    rows = {str(index): layer for index, layer in enumerate(layers)}
    if row is None and len(layers) == 1:
        return layers[0]
    if row not in rows:
        raise LayerError(f"{text!r} names no row; allowed: FILE.csv:0 to FILE.csv:{len(rows) - 1}")
    return rows[row]
