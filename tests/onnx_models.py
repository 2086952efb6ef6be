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


def value(name: str, shape: Sequence[Size] | None = None) -> onnx.ValueInfoProto:
    """Write what a file says of a tensor."""
    return helper.make_tensor_value_info(name, FLOAT, shape)


def model(
    nodes: Sequence[onnx.NodeProto], inputs: Mapping[str, Sequence[Size]], **more: object
) -> onnx.ModelProto:
    """Return a model whose results are what no node reads, if no ``results`` are given.

    ``opset``, ``domains``, ``weights`` may be given, and ``stated``, shapes that the file has.
    """
    values = [value(name, shape) for name, shape in inputs.items()]
    read = {name for each in nodes for name in each.input}
    unread = [name for each in nodes for name in each.output if name and name not in read]
    stated = {name: value(name, shape) for name, shape in more.get("stated", {}).items()}
    results = [stated.pop(name, value(name)) for name in more.get("results", unread)]
    graph = helper.make_graph(nodes, "graph", values, results, more.get("weights", ()))
    graph.value_info.extend(stated.values())
    domains = [helper.make_opsetid(each, 1) for each in more.get("domains", ())]
    opsets = [helper.make_opsetid("", more.get("opset", 23)), *domains]
    return helper.make_model(graph, opset_imports=opsets)


def save(folder: Path, made: onnx.ModelProto, name: str = "net") -> str:
    """Save a model and return its path."""
    path = folder / f"{name}.onnx"
    path.write_bytes(made.SerializeToString())
    return str(path)


def numbers(name: str, *values: int, shape: Sequence[int] | None = None) -> onnx.TensorProto:
    """Write integers, in one axis if no shape is given."""
    dims = [len(values)] if shape is None else shape
    return onnx.TensorProto(name=name, data_type=7, dims=dims, int64_data=values)


def weights(name: str, *shape: int) -> onnx.TensorProto:
    """Write weights without their values."""
    return onnx.TensorProto(name=name, data_type=FLOAT, dims=shape)


def body(
    nodes: Sequence[onnx.NodeProto], inputs: Sequence[str] = (), results: Sequence[str] = ()
) -> onnx.GraphProto:
    """Return the body of a loop, or a branch."""
    values = [onnx.ValueInfoProto(name=name) for name in inputs]
    return helper.make_graph(nodes, "body", values, [value(name) for name in results])
