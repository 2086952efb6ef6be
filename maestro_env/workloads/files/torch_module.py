"""Reads networks from PyTorch modules, through ``torch.export``; needs the extra ``rl``."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from maestro_env.base.checks import require_type
from maestro_env.base.errors import MissingExtraError, NetworkError
from maestro_env.workloads.collection import Collection
from maestro_env.workloads.files.aten_nodes import KEPT, OPERATORS
from maestro_env.workloads.network import Network

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
    return collection.network()


def _export(module: nn.Module, inputs: object) -> Any:
    """Return the program, decomposed into operators that have a rule, or no MACs."""
    args, kwargs = _arguments(inputs)
    with _one_path(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            program = torch.export.export(module, args, kwargs)
            table = torch.export.default_decompositions()
            for operator in KEPT:
                table.pop(operator, None)  # type: ignore[no-untyped-call]
            return program.run_decompositions(table)
        except (RuntimeError, TypeError, ValueError, AttributeError) as error:
            (line, *_) = str(error).splitlines() or [type(error).__name__]
            raise NetworkError(
                f"torch.export cannot trace {type(module).__name__}: {line}"
            ) from error


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
    name, described = _name(node, operator), OPERATORS.get(operator)
    mapped = target.namespace == "aten" and described is not None
    if mapped and inside:
        reason = f"in the body of {inside}; how often it is executed is not known"
        collection.leave_out(name, operator, None, reason)
    elif mapped and described is not None:
        collection.add(name, operator, partial(described, node))
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
        return node.name
    # A module of torch.nn says what it does.
    return path if "torch.nn.modules." in str(kind) else f"{path}.{operator}"
