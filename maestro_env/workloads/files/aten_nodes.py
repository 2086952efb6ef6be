"""What the operators of PyTorch compute: arguments and shapes in, descriptions of work out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from maestro_env.base.errors import LayerError, MissingExtraError
from maestro_env.workloads.lowering import Product, Work
from maestro_env.workloads.operators import (
    attention,
    convolution,
    einsum,
    matmul,
    recurrent,
    transposed_convolution,
)

try:
    import torch
    from torch import fx
except ModuleNotFoundError as error:
    raise MissingExtraError("reading a PyTorch module", str(error.name), "rl") from error

_ATEN = torch.ops.aten
KEPT = (
    _ATEN.bilinear.default,
    _ATEN.dot.default,
    _ATEN.einsum.default,
    _ATEN.gru.input,
    _ATEN.linear.default,
    _ATEN.lstm.input,
    _ATEN.matmul.default,
    _ATEN.mv.default,
    _ATEN.rnn_relu.input,
    _ATEN.rnn_tanh.input,
    _ATEN.scaled_dot_product_attention.default,
    _ATEN.vdot.default,
)
"""Operators that are not decomposed: as one operator they say more, or even have MACs only so."""


def _shape(value: Any) -> tuple[int, ...]:
    """Return the shape of a tensor of the graph."""
    shape = value.meta["val"].shape
    if not all(isinstance(extent, int) for extent in shape):
        raise LayerError(f"the shape of {value.name} depends on values")
    return tuple(shape)


def _arguments(node: fx.Node) -> list[Any]:
    """Return all arguments in order, defaults included."""
    names = [argument.name for argument in node.target._schema.arguments]  # type: ignore[union-attr]
    defaults = [argument.default_value for argument in node.target._schema.arguments]  # type: ignore[union-attr]
    given = dict(zip(names, node.args, strict=False)) | node.kwargs
    return [given.get(name, value) for name, value in zip(names, defaults, strict=True)]


def _convolution(node: fx.Node) -> list[Work]:
    inputs, weights, _, *lists, transposed, _, groups = _arguments(node)
    shape, filters = _shape(inputs), _shape(weights)
    axes = len(shape) - 2
    strides, padding, dilations = (each * axes if len(each) == 1 else each for each in lists)
    if transposed:
        outputs = _shape(node)[2:]
        return [
            transposed_convolution(shape, filters, outputs, strides, dilations, padding, groups)
        ]
    pads = [(each, each) for each in padding]
    return [convolution(shape, filters, strides, dilations, pads, groups)]


def _product(node: fx.Node) -> list[Work]:
    left, right, *_ = _arguments(node)
    return [matmul(_shape(left), _shape(right))]


def _added_product(node: fx.Node) -> list[Work]:
    _, left, right, *_ = _arguments(node)
    return [matmul(_shape(left), _shape(right))]


def _summed_products(node: fx.Node) -> list[Work]:
    _, left, right, *_ = _arguments(node)
    return [*einsum("bij,bjk->ik", [_shape(left), _shape(right)])]


def _linear(node: fx.Node) -> list[Work]:
    inputs, weights, *_ = _arguments(node)
    return [matmul(_shape(inputs), _shape(weights)[::-1])]


def _bilinear(node: fx.Node) -> list[Work]:
    left, right, weights = map(_shape, _arguments(node)[:3])
    return [*einsum("...i,oij,...j->...o", [left, weights, right])]


def _einsum(node: fx.Node) -> list[Work]:
    equation, operands, *_ = _arguments(node)
    return [*einsum(equation, list(map(_shape, operands)))]


def _attention(node: fx.Node) -> list[Work]:
    query, key, value, *_ = _arguments(node)
    return [*attention(_shape(query), _shape(key), _shape(value))]


def _recurrent(node: fx.Node) -> list[Work]:
    inputs, _, parameters, _, layers, _, _, both, batch_first = _arguments(node)
    steps, batch, _ = _shape(inputs)
    if batch_first:
        steps, batch = batch, steps
    shapes = [_shape(each) for each in parameters]
    matrices = [shape for shape in shapes if len(shape) == 2]
    several = len(matrices) // (layers * (1 + both))
    cells = [matrices[i : i + several] for i in range(0, len(matrices), several)]
    return [work for cell in cells for work in _cell(steps, batch, cell)]


def _cell(steps: int, batch: int, matrices: Sequence[tuple[int, ...]]) -> Iterator[Product]:
    """Yield the products of one direction of one layer; a third matrix projects its state."""
    weights, state_weights, *projection = matrices
    yield from recurrent(steps, batch, weights, state_weights)
    for state, hidden in projection:
        yield Product(batch, hidden, state, steps, "projection")


OPERATORS: Mapping[str, Callable[[fx.Node], Sequence[Work]]] = {
    "addbmm": _summed_products,
    "addmm": _added_product,
    "addmv": _added_product,
    "baddbmm": _added_product,
    "bilinear": _bilinear,
    "bmm": _product,
    "convolution": _convolution,
    "dot": _product,
    "einsum": _einsum,
    "gru": _recurrent,
    "linear": _linear,
    "lstm": _recurrent,
    "matmul": _product,
    "mm": _product,
    "mv": _product,
    "rnn_relu": _recurrent,
    "rnn_tanh": _recurrent,
    "scaled_dot_product_attention": _attention,
    "vdot": _product,
}
"""What each operator that is mapped computes."""
