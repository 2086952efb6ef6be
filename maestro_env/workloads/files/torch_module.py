"""Reads networks from PyTorch modules, through ``torch.export``; needs the extra ``rl``."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from maestro_env.base.checks import require_type
from maestro_env.base.errors import LayerError, MissingExtraError, NetworkError
from maestro_env.workloads.lowering import Product, Work
from maestro_env.workloads.network import Collection, Network, batch_of
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

try:
    import torch
    from torch import fx, nn
    from torch._ops import HigherOrderOperator, OpOverload
except ModuleNotFoundError as error:
    raise MissingExtraError("reading a PyTorch module", str(error.name), "rl") from error

# Operators of PyTorch with MACs, by their names; those with a rule are found before.
_HAS_MACS = re.compile(
    r"addr$|attention|bilinear$|^_trilinear|cdist|conv(?!ert)|fft|gru|lstm|rnn|mm(_|$)|_mm|addmv"
    r"|^_?linalg_(?!cross|diagonal|norm|vector_norm)|_transformer"
)
_WITHOUT_MACS = re.compile(r"^upsample_|^_?fft_[cr]2[cr]_")
_OURS = ("aten", "prim", "prims", "quantized_decomposed")


def from_torch(module: nn.Module, example_inputs: object, name: str | None = None) -> Network:
    """Return the network of a module, for inputs of the shapes of the example.

    Nothing is computed, and the module is not changed; its code is executed on tensors without
    values.

    Args:
        module: a ``torch.nn.Module``.
        example_inputs: a tensor, a tuple of the positional arguments of ``forward``, or a dict of
            its arguments by name.
        name: of the network; by default that of the module's class.

    Raises:
        ArgumentTypeError: no module.
        NetworkError: it cannot be exported, or has no operator that can be mapped.
    """
    require_type("module", module, nn.Module, "such as torch.nn.Linear(4, 4)")
    collection = Collection(name or type(module).__name__)
    program = _export(module, example_inputs)
    for node, inside in _walk(program.graph_module):
        _add(collection, node, inside)
    given = set(program.graph_signature.user_inputs)
    fed = (node.meta["val"] for node in program.graph.nodes if node.name in given)
    collection.batch = batch_of(each.shape for each in fed if isinstance(each, torch.Tensor))
    return collection.network()


def _export(module: nn.Module, inputs: object) -> Any:
    """Return the program, decomposed into operators that have a rule, or no MACs."""
    args, kwargs = _arguments(inputs)
    with _one_path(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            program = torch.export.export(module, args, kwargs)
            table = torch.export.default_decompositions()
            for each in [each for each in table if _has_rule(each)]:
                del table[each]
            return program.run_decompositions(table)
        except (RuntimeError, TypeError, ValueError, AttributeError) as error:
            (line, *_) = str(error).splitlines() or [type(error).__name__]
            raise NetworkError(
                f"torch.export cannot trace {type(module).__name__}: {line}"
            ) from error


def _has_rule(operator: Any) -> bool:
    """Whether an operator says more as one than decomposed, or has MACs only so."""
    name, _, overload = str(operator).removeprefix("aten.").partition(".")
    return name in _OPERATORS and overload in ("default", "input")


def _arguments(inputs: object) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(inputs, Mapping):
        return (), dict(inputs)
    return (tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)), {}


@contextmanager
def _one_path() -> Iterator[None]:
    """Keep attention out of fused kernels that have no decomposition."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


def _walk(module: fx.GraphModule, inside: str = "") -> Iterator[tuple[fx.Node, str]]:
    """Yield every call, and the operator in whose body it is, empty where it is executed once."""
    for node in module.graph.nodes:
        if node.op == "call_function" and isinstance(node.target, HigherOrderOperator):
            name = str(node.target)
            for body in _bodies(module, node):
                yield from _walk(body, inside if name.startswith("wrap_with") else name)
        elif node.op == "call_function":
            yield node, inside


def _bodies(module: fx.GraphModule, node: fx.Node) -> Iterator[fx.GraphModule]:
    for each in node.all_input_nodes:
        if each.op == "get_attr":
            body = getattr(module, str(each.target), None)
            if isinstance(body, fx.GraphModule):
                yield body


def _add(collection: Collection, node: fx.Node, inside: str) -> None:
    target = node.target
    if not isinstance(target, OpOverload):
        return
    operator = str(target.overloadpacket.__name__)
    name, described = _name(node, operator), _OPERATORS.get(operator)
    mapped = target.namespace == "aten" and described is not None
    if mapped and inside:
        reason = f"in the body of {inside}; how often it is executed is not known"
        collection.leave_out(name, operator, None, reason)
    elif mapped and described is not None:
        collection.add(name, operator, lambda: described(GraphCall(node)))
    elif target.namespace not in _OURS:
        collection.leave_out(
            name, operator, None, f"an operator of {target.namespace}; its MACs are unknown"
        )
    elif _HAS_MACS.search(operator) and not _WITHOUT_MACS.search(operator):
        collection.leave_out(name, operator, None, "no rule for this operator")


def _name(node: fx.Node, operator: str) -> str:
    """Return the path of the module that calls, such as ``layer1.0.conv1``."""
    stack: Sequence[tuple[str, Any]] = list(node.meta.get("nn_module_stack", {}).values())
    path, kind = stack[-1] if stack else ("", "")
    if not path:
        return str(node.name)
    # A module of torch.nn says what it does.
    return path if "torch.nn.modules." in str(kind) else f"{path}.{operator}"


class GraphCall:
    """A call of the graph: its arguments, and their shapes."""

    def __init__(self, node: fx.Node) -> None:
        self._node = node
        schema = node.target._schema.arguments
        given = dict(zip((each.name for each in schema), node.args, strict=False)) | node.kwargs
        self.arguments = [given.get(each.name, each.default_value) for each in schema]

    def shapes(self, *places: int) -> list[Shape]:
        """Return the shapes of some arguments."""
        return [_shape(self.arguments[place]) for place in places]

    @property
    def result(self) -> Shape:
        """Shape of the result."""
        return _shape(self._node)


def _shape(value: Any) -> Shape:
    """Return the shape of a tensor of the graph."""
    shape = value.meta["val"].shape
    if not all(isinstance(extent, int) for extent in shape):
        raise LayerError(f"the shape of {value.name} depends on values")
    return tuple(shape)


def _convolution(call: GraphCall) -> list[Work]:
    _, _, _, *lists, transposed, _, groups = call.arguments
    inputs, filters = call.shapes(0, 1)
    axes = len(inputs) - 2
    strides, padding, dilations = (each * axes if len(each) == 1 else each for each in lists)
    if transposed:
        outputs = call.result[2:]
        return [
            transposed_convolution(inputs, filters, outputs, strides, dilations, padding, groups)
        ]
    pads = [(each, each) for each in padding]
    return [convolution(inputs, filters, strides, dilations, pads, groups)]


def _linear(inputs: Shape, weights: Shape) -> Sequence[Work]:
    return matmul(inputs, weights[::-1])


def _einsum(call: GraphCall) -> Sequence[Work]:
    equation, operands, *_ = call.arguments
    return einsum(equation, *map(_shape, operands))


def _recurrent(call: GraphCall) -> list[Work]:
    _, _, parameters, _, layers, _, _, both, batch_first = call.arguments
    (inputs,) = call.shapes(0)
    steps, batch = inputs[1::-1] if batch_first else inputs[:2]
    matrices = [shape for shape in map(_shape, parameters) if len(shape) == 2]
    several = len(matrices) // (layers * (1 + both))
    cells = [matrices[i : i + several] for i in range(0, len(matrices), several)]
    return [work for cell in cells for work in _cell(steps, batch, *cell)]


def _cell(
    steps: int, batch: int, weights: Shape, state_weights: Shape, projection: Shape = ()
) -> Sequence[Work]:
    """Return the products of one direction of one layer; a third matrix projects its state."""
    products = recurrent(steps, batch, weights, state_weights)
    if projection:
        state, hidden = projection
        products.append(Product(batch, hidden, state, steps, "projection"))
    return products


_OPERATORS: Mapping[str, Callable[[GraphCall], Sequence[Work]]] = {
    "addbmm": of_shapes(partial(einsum, "bij,bjk->ik"), 1, 2),
    **dict.fromkeys(("addmm", "addmv"), of_shapes(matmul, 1, 2)),
    "bilinear": of_shapes(partial(einsum, "...i,oij,...j->...o"), 0, 2, 1),
    "convolution": _convolution,
    "einsum": _einsum,
    **dict.fromkeys(("gru", "lstm", "rnn_relu", "rnn_tanh"), _recurrent),
    "linear": of_shapes(_linear, 0, 1),
    **dict.fromkeys(("bmm", "dot", "matmul", "mm", "mv", "vdot"), of_shapes(matmul, 0, 1)),
    "scaled_dot_product_attention": of_shapes(attention, 0, 1, 2),
}
