"""What the operators of ONNX compute: attributes and shapes in, descriptions of work out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import onnx
from onnx import helper

from maestro_env.base.errors import LayerError, quoted
from maestro_env.workloads.files.onnx_model import Shapes
from maestro_env.workloads.lowering import NotMapped, Work
from maestro_env.workloads.operators import (
    attention,
    convolution,
    einsum,
    matmul,
    recurrent,
    transposed_convolution,
)


class Node:
    """A node of the graph: its attributes, and the shapes of its inputs and outputs."""

    def __init__(self, node: onnx.NodeProto, shapes: Shapes) -> None:
        self._node, self._shapes = node, shapes

    def inputs(self, *places: int, rank: int | None = None) -> list[tuple[int, ...]]:
        """Return the shapes of some inputs, all of the same rank where one is given."""
        shapes = [self._input(place) for place in places]
        for shape in shapes:
            if rank is not None and len(shape) != rank:
                raise LayerError(f"an input of shape {list(shape)}; expected: {rank} dimensions")
        return shapes

    def features(self, weights: int) -> list[tuple[int, ...]]:
        """Return the shapes of the input and of the filters of a convolution."""
        inputs, filters = self.inputs(0, weights, rank=max(3, len(self._input(0))))
        window = self._attribute("kernel_shape", None) or list(filters[2:])
        if window != list(filters[2:]):
            raise LayerError(f"kernel_shape is {quoted(window)}, the filters' {list(filters[2:])}")
        return [inputs, filters]

    def _input(self, place: int) -> tuple[int, ...]:
        if not self.has_input(place):
            raise LayerError(f"input {place} is missing")
        return self._shape(self._node.input[place])

    def has_input(self, place: int) -> bool:
        """Whether an input is given, that may be left out."""
        return place < len(self._node.input) and bool(self._node.input[place])

    @property
    def num_inputs(self) -> int:
        """Number of inputs."""
        return len(self._node.input)

    def integer(self, name: str, default: int) -> int:
        """Return an attribute that is an integer."""
        value = self._attribute(name, default)
        if not isinstance(value, int):
            raise LayerError(f"attribute {name} is {quoted(value)}, not an integer")
        return value

    def integers(self, name: str, default: int, length: int) -> list[int]:
        """Return an attribute that lists one integer for each of ``length`` places."""
        value = self._attribute(name, None) or [default] * length
        if not isinstance(value, list) or len(value) != length or type(value[0]) is not int:
            raise LayerError(f"attribute {name} is {quoted(value)}, not {length} integers")
        return value

    def text(self, name: str, default: str) -> str:
        """Return an attribute that is a text."""
        value = self._attribute(name, default.encode())
        if not isinstance(value, bytes):
            raise LayerError(f"attribute {name} is {quoted(value)}, not a text")
        return value.decode(errors="replace")

    def _attribute(self, name: str, default: object) -> object:
        for each in self._node.attribute:
            if each.name == name:
                try:
                    return helper.get_attribute_value(each)
                except ValueError:
                    raise LayerError(f"attribute {name} has no type") from None
        return default

    def _shape(self, name: str) -> tuple[int, ...]:
        shape = self._shapes.get(name)
        if shape is None:
            raise LayerError(f"the shape of {quoted(name)} is not known")
        if any(extent < 0 for extent in shape):
            raise LayerError(f"the shape of {quoted(name)} is {list(shape)}")
        return shape


def _convolution(node: Node, weights: int) -> list[Work]:
    inputs, filters = node.features(weights)
    axes = len(inputs) - 2
    strides, dilations = node.integers("strides", 1, axes), node.integers("dilations", 1, axes)
    sizes = zip(inputs[2:], filters[2:], strides, dilations, strict=True)
    padding = _padding(node, [_same(*size) for size in sizes])
    groups = node.integer("group", 1)
    return [convolution(inputs, filters, strides, dilations, padding, groups)]


def _same(size: int, window: int, stride: int, dilation: int) -> int:
    """Return how much padding leaves ``size / stride`` outputs, rounded up."""
    outputs = -(-size // max(stride, 1))
    return max(0, (outputs - 1) * stride + (window - 1) * dilation + 1 - size)


def _padding(node: Node, same: Sequence[int]) -> list[tuple[int, int]]:
    """Return the padding of each axis; ``same`` is what ``auto_pad`` makes of it."""
    auto = node.text("auto_pad", "NOTSET")
    if auto == "VALID":
        return [(0, 0)] * len(same)
    if auto == "NOTSET":
        pads = node.integers("pads", 0, 2 * len(same))
        return list(zip(pads[: len(same)], pads[len(same) :], strict=True))
    if auto not in ("SAME_UPPER", "SAME_LOWER"):
        raise LayerError(f"auto_pad is {quoted(auto)}")
    halves = [(total // 2, total - total // 2) for total in same]
    return [half if auto == "SAME_UPPER" else (half[1], half[0]) for half in halves]


def _transposed_convolution(node: Node) -> list[Work]:
    inputs, filters = node.features(1)
    axes = len(inputs) - 2
    strides, dilations = node.integers("strides", 1, axes), node.integers("dilations", 1, axes)
    more = node.integers("output_padding", 0, axes)
    sizes = list(zip(inputs[2:], filters[2:], strides, dilations, more, strict=True))
    full = [(n - 1) * s + (k - 1) * d + 1 + m for n, k, s, d, m in sizes]
    if node.integers("output_shape", 0, axes)[0]:
        outputs = node.integers("output_shape", 0, axes)
        begins = _shared_out(node, full, outputs)
    elif node.text("auto_pad", "NOTSET").startswith("SAME"):
        outputs = [size * stride for size, _, stride, *_ in sizes]
        begins = _shared_out(node, full, outputs)
    else:
        padding = _padding(node, [0] * axes)
        outputs = [size - sum(pads) for size, pads in zip(full, padding, strict=True)]
        begins = [begin for begin, _ in padding]
    groups = node.integer("group", 1)
    return [transposed_convolution(inputs, filters, outputs, strides, dilations, begins, groups)]


def _shared_out(node: Node, full: Sequence[int], outputs: Sequence[int]) -> list[int]:
    """Return the padding before each axis where the outputs are given."""
    totals = [max(0, size - wanted) for size, wanted in zip(full, outputs, strict=True)]
    upper = node.text("auto_pad", "NOTSET") == "SAME_UPPER"
    return [total // 2 if upper else total - total // 2 for total in totals]


def _deformable(node: Node) -> list[Work]:
    (convolved,) = _convolution(node, 1)
    raise NotMapped(convolved.macs, "its inputs are gathered at computed offsets")


def _causal_convolution(node: Node) -> list[Work]:
    inputs, filters = node.inputs(0, 1, rank=3)
    padding = [(filters[-1] - 1, 0)]
    return [convolution(inputs, filters, [1], [1], padding, inputs[1])]


def _matmul(node: Node, right: int) -> list[Work]:
    return [matmul(*node.inputs(0, right))]


def _gemm(node: Node, right: int) -> list[Work]:
    sides = node.inputs(0, right)
    flags = [node.integer(name, 0) for name in ("transA", "transB")]
    shapes = [shape[::-1] if flag else shape for shape, flag in zip(sides, flags, strict=True)]
    return [matmul(*shapes)]


def _einsum(node: Node) -> list[Work]:
    return [*einsum(node.text("equation", ""), node.inputs(*range(node.num_inputs)))]


def _attention(node: Node) -> list[Work]:
    if node.integer("q_num_heads", 0):
        query, key, value = node.inputs(0, 1, 2, rank=3)
        query = _split(query, node.integer("q_num_heads", 0))
        key, value = (_split(each, node.integer("kv_num_heads", 0)) for each in (key, value))
    else:
        query, key, value = node.inputs(0, 1, 2, rank=4)
    if node.has_input(4):
        ((_, _, past, _),) = node.inputs(4, rank=4)
        key, value = ((*each[:2], each[2] + past, each[3]) for each in (key, value))
    return [*attention(query, key, value)]


def _split(shape: Sequence[int], heads: int) -> tuple[int, ...]:
    if heads < 1 or shape[-1] % heads:
        raise LayerError(f"{heads} heads of shape {list(shape)}")
    batch, steps, width = shape
    return batch, heads, steps, width // heads


def _recurrent(node: Node) -> list[Work]:
    inputs, weights, state = node.inputs(0, 1, 2, rank=3)
    steps, batch, _ = inputs
    if node.integer("layout", 0):
        steps, batch = batch, steps
    return [*recurrent(steps, batch, weights[1:], state[1:], directions=weights[0])]


OPERATORS: Mapping[str, Callable[[Node], Sequence[Work]]] = {
    "Attention": _attention,
    "CausalConvWithState": _causal_convolution,
    "Conv": partial(_convolution, weights=1),
    "ConvInteger": partial(_convolution, weights=1),
    "ConvTranspose": _transposed_convolution,
    "DeformConv": _deformable,
    "Einsum": _einsum,
    "GRU": _recurrent,
    "Gemm": partial(_gemm, right=1),
    "LSTM": _recurrent,
    "MatMul": partial(_matmul, right=1),
    "MatMulInteger": partial(_matmul, right=1),
    "QLinearConv": partial(_convolution, weights=3),
    "QLinearMatMul": partial(_matmul, right=3),
    "RNN": _recurrent,
}
"""What each operator that is mapped computes."""
