"""ONNX models that tests write node by node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

onnx = pytest.importorskip("onnx")
helper, FLOAT = onnx.helper, onnx.TensorProto.FLOAT

Size = int | str | None
"""An extent, the name of one that is open, or one that is open without a name."""


def node(operator: str, inputs: str, outputs: str = "y", **attributes: object) -> onnx.NodeProto:
    """Write a node that reads the tensors of a text, such as ``x w``; ``_`` is one left out."""
    names = ["" if name == "_" else name for name in inputs.split()]
    return helper.make_node(operator, names, outputs.split(), **attributes)


def model(
    nodes: Sequence[onnx.NodeProto], inputs: Mapping[str, Sequence[Size]], **more: object
) -> onnx.ModelProto:
    """Return a model whose result is ``y``; ``opset``, ``domains``, ``weights`` may be given."""
    values = [helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in inputs.items()]
    result = [helper.make_tensor_value_info("y", FLOAT, None)]
    graph = helper.make_graph(nodes, "graph", values, result, more.get("weights", ()))
    domains = [helper.make_opsetid(each, 1) for each in more.get("domains", ())]
    opsets = [helper.make_opsetid("", more.get("opset", 23)), *domains]
    return helper.make_model(graph, opset_imports=opsets)


def save(folder: Path, made: onnx.ModelProto, name: str = "net") -> str:
    """Save a model and return its path."""
    path = folder / f"{name}.onnx"
    path.write_bytes(made.SerializeToString())
    return str(path)
