"""Reads networks from ONNX files: a node is mapped, has no MACs, or is left out with a reason."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import onnx

from maestro_env.workloads.collection import Collection
from maestro_env.workloads.files.onnx_model import Shapes, open_onnx, walk
from maestro_env.workloads.files.onnx_nodes import OPERATORS, Node
from maestro_env.workloads.network import Network

_ONNX = ("", "ai.onnx")
_NOT_MAPPED = {
    "AffineGrid": "no rule for a grid of coordinates",
    "DFT": "no rule for a Fourier transform",
    "FlexAttention": "no rule for attention with functions of its own",
    "LinearAttention": "no rule for linear attention",
    "LinearClassifier": "no rule for a classifier",
    "LinearRegressor": "no rule for a regression",
    "STFT": "no rule for a Fourier transform",
    "SVMClassifier": "no rule for a classifier",
    "SVMRegressor": "no rule for a regression",
}


def read_onnx(path: str | Path, dims: Mapping[str, int] | None = None) -> Network:
    """Read the network of an ONNX file; its weights are neither needed nor read.

    Args:
        path: of the file.
        dims: a number for every symbolic dimension of its inputs, such as ``{"batch": 1}``.

    Raises:
        NetworkError: the file cannot be read, a dimension has no number, or no operator can be
            mapped.
    """
    graph, shapes = open_onnx(path, dims)
    collection = Collection(Path(path).stem)
    for number, (node, inside) in enumerate(walk(graph.node)):
        _add(collection, node, f"{node.op_type}_{number}", inside, shapes)
    return collection.network()


def _add(
    collection: Collection, node: onnx.NodeProto, default: str, inside: str, shapes: Shapes
) -> None:
    operator, name = node.op_type, node.name or default
    mapped = node.domain in _ONNX and operator in OPERATORS
    if inside and mapped:
        reason = f"in the body of {inside}; how often it is executed is not in the file"
        collection.leave_out(name, operator, None, reason)
    elif mapped:
        collection.add(name, operator, partial(OPERATORS[operator], Node(node, shapes)))
    elif operator in _NOT_MAPPED:
        collection.leave_out(name, operator, None, _NOT_MAPPED[operator])
    elif not onnx.defs.has(operator, "" if node.domain in _ONNX else node.domain):
        domain = f"of {node.domain}" if node.domain not in _ONNX else "that ONNX does not have"
        collection.leave_out(name, operator, None, f"an operator {domain}; its MACs are unknown")
