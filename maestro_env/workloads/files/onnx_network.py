"""Reads networks from ONNX files: a node is mapped, has no MACs, or is left out with a reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import onnx
from onnx import helper

from maestro_env.base.errors import LayerError, quoted
from maestro_env.workloads.files.onnx_execution import Step
from maestro_env.workloads.files.onnx_microsoft import DOMAIN, PAST, is_weighted, operands
from maestro_env.workloads.files.onnx_model import open_onnx
from maestro_env.workloads.files.onnx_tensors import ONNX
from maestro_env.workloads.lowering import NotMapped, Work
from maestro_env.workloads.network import Collection, Network
from maestro_env.workloads.operators import (
    Shape,
    attention,
    convolution,
    einsum,
    matmul,
    of_shapes,
    recurrent,
    transposed_convolution,
)

_NOT_MAPPED = re.compile(
    "AffineGrid|DFT|STFT|(Flex|Linear)Attention|(Linear|SVM)(Classifier|Regressor)"
)


def read_onnx(path: str | Path, dims: Mapping[str, int] | None = None) -> Network:
    """Read the network of an ONNX file; its weights are neither needed nor read.

    Args:
        path: of the file.
        dims: a number for every symbolic dimension of its inputs, such as ``{"batch": 1}``.

    Raises:
        NetworkError: the file cannot be read, a dimension has no number, or no operator can be
            mapped.
    """
    execution = open_onnx(path, dims)
    collection = Collection(Path(path).stem)
    collection.batch = execution.batch
    for step in execution.steps():
        if step.times:
            _add(collection, step)
    for sentence, tensor in execution.notes:
        collection.note(sentence, tensor)
    return collection.network()


def _add(collection: Collection, step: Step) -> None:
    node = step.node
    operator, name = node.op_type, node.name or f"{node.op_type}_{step.number}"
    describe = OPERATORS.get(operator) if node.domain in ONNX else None
    if node.domain == DOMAIN and operator in PAST:
        describe = _attention
    if describe and step.reason:
        collection.leave_out(name, operator, None, step.reason)
    elif describe:
        collection.add(name, operator, partial(describe, Node(step)), step.times)
    elif _NOT_MAPPED.fullmatch(operator):
        collection.leave_out(name, operator, None, "no rule for this operator")
    elif not onnx.defs.has(operator, "" if node.domain in ONNX else node.domain):
        domain = f"of {node.domain}" if node.domain not in ONNX else "that ONNX does not have"
        collection.leave_out(name, operator, None, f"an operator {domain}; its MACs are unknown")


_Value = TypeVar("_Value", int, str, list[int])


class Node:
    """A node of the graph: its attributes, and the shapes of its inputs."""

    def __init__(self, step: Step) -> None:
        self.step = step
        self.inputs = range(len(step.node.input))

    def shapes(self, *places: int, rank: int | None = None) -> list[Shape]:
        """Return the shapes of some inputs, all of the same rank where one is given."""
        shapes = [self._shape(place) for place in places]
        for shape in shapes:
            if rank is not None and len(shape) != rank:
                raise LayerError(f"an input of shape {list(shape)}; expected: {rank} dimensions")
        return shapes

    def attribute(self, name: str, default: _Value) -> _Value:
        """Return an attribute that is of the kind of its default; an empty list is none."""
        for each in self.step.node.attribute:
            if each.name == name:
                value: Any
                try:
                    value = helper.get_attribute_value(each)
                except ValueError:
                    raise LayerError(f"attribute {name} has no type") from None
                value = value.decode(errors="replace") if isinstance(value, bytes) else value
                if _kind(value) not in (_kind(default), "0"):
                    raise LayerError(f"attribute {name} is {quoted(value)}, not {_kind(default)}")
                return default if value == [] else cast(_Value, value)
        return default

    def _shape(self, place: int) -> Shape:
        tensor = self.step.reads[place] if place in self.inputs else None
        if tensor is None:
            raise LayerError(f"input {place} is missing")
        shape, name = tensor.shape, self.step.node.input[place]
        if shape is None:
            raise LayerError(f"the shape of {quoted(name)} is not known")
        if any(extent < 0 for extent in shape):
            raise LayerError(f"the shape of {quoted(name)} is {list(shape)}")
        return shape


def _kind(value: object) -> str:
    if isinstance(value, list):
        return f"{len(value)} of {_kind(value[0])}" if value else "0"
    return type(value).__name__


def _window(node: Node, weights: int) -> tuple[Shape, Shape, list[int], list[int]]:
    """Return the shapes of the input and of the filters, the strides and the dilations."""
    (inputs,) = node.shapes(0)
    inputs, filters = node.shapes(0, weights, rank=max(3, len(inputs)))
    sizes = list(filters[2:])
    window = node.attribute("kernel_shape", sizes)
    if window != sizes:
        raise LayerError(f"kernel_shape is {quoted(window)}, the filters' {sizes}")
    ones = [1] * len(sizes)
    return inputs, filters, node.attribute("strides", ones), node.attribute("dilations", ones)


def _convolution(node: Node, weights: int) -> list[Work]:
    inputs, filters, strides, dilations = _window(node, weights)
    sizes = zip(inputs[2:], filters[2:], strides, dilations, strict=True)
    padding = _padding(node, [_same(*size) for size in sizes])
    groups = node.attribute("group", 1)
    return [convolution(inputs, filters, strides, dilations, padding, groups)]


def _same(size: int, window: int, stride: int, dilation: int) -> int:
    """Return how much padding leaves ``size / stride`` outputs, rounded up."""
    outputs = -(-size // max(stride, 1))
    return max(0, (outputs - 1) * stride + (window - 1) * dilation + 1 - size)


def _padding(node: Node, same: Sequence[int]) -> list[tuple[int, int]]:
    """Return the padding of each axis; ``same`` is what ``auto_pad`` makes of it."""
    auto = node.attribute("auto_pad", "NOTSET")
    if auto == "VALID":
        return [(0, 0)] * len(same)
    if auto == "NOTSET":
        pads = node.attribute("pads", [0, 0] * len(same))
        return list(zip(pads[: len(same)], pads[len(same) :], strict=True))
    if auto not in ("SAME_UPPER", "SAME_LOWER"):
        raise LayerError(f"auto_pad is {quoted(auto)}")
    halves = [(total // 2, total - total // 2) for total in same]
    return [half if auto == "SAME_UPPER" else (half[1], half[0]) for half in halves]


def _transposed_convolution(node: Node) -> list[Work]:
    inputs, filters, strides, dilations = _window(node, 1)
    none = [0] * len(strides)
    more = node.attribute("output_padding", none)
    sizes = list(zip(inputs[2:], filters[2:], strides, dilations, more, strict=True))
    full = [(n - 1) * s + (k - 1) * d + 1 + m for n, k, s, d, m in sizes]
    outputs = node.attribute("output_shape", none)
    if not outputs[0] and node.attribute("auto_pad", "NOTSET").startswith("SAME"):
        outputs = [size * stride for size, _, stride, *_ in sizes]
    if outputs[0]:
        begins = _shared_out(node, full, outputs)
    else:
        padding = _padding(node, none)
        outputs = [size - sum(pads) for size, pads in zip(full, padding, strict=True)]
        begins = [begin for begin, _ in padding]
    groups = node.attribute("group", 1)
    return [transposed_convolution(inputs, filters, outputs, strides, dilations, begins, groups)]


def _shared_out(node: Node, full: Sequence[int], outputs: Sequence[int]) -> list[int]:
    """Return the padding before each axis where the outputs are given."""
    totals = [max(0, size - wanted) for size, wanted in zip(full, outputs, strict=True)]
    upper = node.attribute("auto_pad", "NOTSET") == "SAME_UPPER"
    return [total // 2 if upper else total - total // 2 for total in totals]


def _deformable(node: Node) -> list[Work]:
    (convolved,) = _convolution(node, 1)
    raise NotMapped(convolved.macs, "its inputs are gathered at computed offsets")


def _causal_convolution(node: Node) -> list[Work]:
    inputs, filters = node.shapes(0, 1, rank=3)
    return [convolution(inputs, filters, [1], [1], [(filters[-1] - 1, 0)], inputs[1])]


def _gemm(node: Node) -> Sequence[Work]:
    left, right = node.shapes(0, 1)
    left = left[::-1] if node.attribute("transA", 0) else left
    return matmul(left, right[::-1] if node.attribute("transB", 0) else right)


def _einsum(node: Node) -> Sequence[Work]:
    return einsum(node.attribute("equation", ""), *node.shapes(*node.inputs))


def _attention(node: Node) -> Sequence[Work]:
    products = matmul(*node.shapes(0, 1)) if is_weighted(node.step.node) else ()
    return [*products, *attention(*operands(node.step.node, node.step.reads))]


def _recurrent(node: Node) -> Sequence[Work]:
    inputs, weights, state = node.shapes(0, 1, 2, rank=3)
    if inputs[2] != weights[2] or state[:2] != weights[:2]:
        raise LayerError(f"weights {list(weights)} and {list(state)} for inputs {list(inputs)}")
    steps, batch = inputs[1::-1] if node.attribute("layout", 0) else inputs[:2]
    return recurrent(steps, batch, weights[1:], state[1:], directions=weights[0])


OPERATORS: Mapping[str, Callable[[Node], Sequence[Work]]] = {
    "Attention": _attention,
    "CausalConvWithState": _causal_convolution,
    "Conv": partial(_convolution, weights=1),
    "ConvInteger": partial(_convolution, weights=1),
    "ConvTranspose": _transposed_convolution,
    "DeformConv": _deformable,
    "Einsum": _einsum,
    "GRU": _recurrent,
    "Gemm": _gemm,
    "LSTM": _recurrent,
    "MatMul": of_shapes(matmul, 0, 1),
    "MatMulInteger": of_shapes(matmul, 0, 1),
    "QLinearConv": partial(_convolution, weights=3),
    "QLinearMatMul": of_shapes(matmul, 0, 3),
    "RNN": _recurrent,
}
"""What each operator that is mapped computes."""
