"""Opens ONNX files and follows what they execute; weights are neither needed nor read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError
from onnx import inliner

from maestro_env.base.checks import require_integer
from maestro_env.base.errors import NetworkError, TooLongError, quoted
from maestro_env.base.reading import read_bytes
from maestro_env.workloads.files.onnx_execution import Execution, bodies_of

# What a message of Protocol Buffers can hold.
_MOST_BYTES = 2**31 - 1
_MOST_NODES = 10**6
_MOST_CALLS = 50


def open_onnx(path: str | Path, dims: Mapping[str, int] | None = None) -> Execution:
    """Return what a file executes.

    Args:
        path: of the file; of the other files that it names, only values of a few small tensors are
            read, and only from its folder.
        dims: a number for every symbolic dimension of the inputs.

    Raises:
        NetworkError: the file is no valid model, or lacks a number of a dimension.
    """
    name = str(path)
    model = _parse(name, _read(path))
    if not model.graph.node or not model.graph.output:
        raise NetworkError(
            f"{name!r} is an ONNX model without nodes or without outputs; export it again"
        )
    _check_texts(name, model)
    _check_opsets(name, model)
    model = _inline(name, model)
    set_dims(name, model.graph, dims or {})
    return Execution(name, model, Path(path).parent, dims or {})


def _read(path: str | Path) -> bytes:
    if not Path(path).is_file():
        missing = "it is not a regular file" if Path(path).exists() else "no such file"
        raise NetworkError(f"{str(path)!r} cannot be read: {missing}")
    try:
        return read_bytes(path, _MOST_BYTES)
    except TooLongError as error:
        raise NetworkError(f"{str(path)!r}: {error}; save the weights next to the model") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise NetworkError(f"{str(path)!r} cannot be read: {reason}") from None


def _parse(name: str, data: bytes) -> onnx.ModelProto:
    if not data:
        raise NetworkError(f"{name!r} is empty; allowed: an ONNX model")
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except (DecodeError, RuntimeError):
        raise NetworkError(
            f"{name!r} is not an ONNX model, or is truncated; export the model again"
        ) from None
    return model


def _check_texts(name: str, model: onnx.ModelProto) -> None:
    """Check that all names are texts: Protocol Buffers returns others as bytes."""
    graph = model.graph
    values = (*graph.input, *graph.output, *graph.value_info)
    dims = (dim.dim_param for value in values for dim in value.type.tensor_type.shape.dim)
    bodies = (node for function in model.functions for node in function.node)
    nodes = list(walk([*graph.node, *bodies]))
    texts = chain(
        (each.name for each in (*values, *graph.initializer, *model.functions)),
        (each.domain for each in (*model.opset_import, *model.functions)),
        *((node.name, node.op_type, node.domain, *node.input, *node.output) for node in nodes),
        (each.name for node in nodes for each in node.attribute),
        dims,
    )
    if not all(isinstance(text, str) for text in texts):
        raise NetworkError(f"{name!r} has a name that is not text; it is damaged, export it again")


def _check_opsets(name: str, model: onnx.ModelProto) -> None:
    newest = onnx.defs.onnx_opset_version()
    for opset in model.opset_import:
        if opset.domain in ("", "ai.onnx") and not 1 <= opset.version <= newest:
            raise NetworkError(
                f"{name!r} has opset {opset.version}; onnx {onnx.__version__} knows 1 to {newest}; "
                "export the model for one of these, or upgrade onnx"
            )


def _inline(name: str, model: onnx.ModelProto) -> onnx.ModelProto:
    """Replace calls of the model's own functions by their bodies."""
    bodies = {(each.domain, each.name): each.node for each in model.functions}
    sizes: dict[tuple[str, str], int] = {}

    def size(nodes: Sequence[onnx.NodeProto], depth: int) -> int:
        if depth > _MOST_CALLS:
            raise NetworkError(f"{name!r} nests more than {_MOST_CALLS} functions, or calls itself")
        return sum(1 + call(each, depth) for each in walk(nodes))

    def call(node: onnx.NodeProto, depth: int) -> int:
        key = (node.domain, node.op_type)
        if key in bodies and key not in sizes:
            sizes[key] = size(bodies[key], depth + 1)
        return sizes.get(key, 0)

    if size(model.graph.node, 0) > _MOST_NODES:
        raise NetworkError(f"{name!r} has more than {_MOST_NODES:,} nodes, which is the limit")
    if not bodies:
        return model
    try:
        return inliner.inline_local_functions(model)
    except (ValueError, RuntimeError, DecodeError) as error:
        raise NetworkError(f"{name!r}: its functions do not fit: {_first_line(error)}") from None


def walk(nodes: Sequence[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """Yield every node, those in bodies of others too."""
    for node in nodes:
        yield node
        for body in bodies_of(node):
            yield from walk(body.node)


def set_dims(name: str, graph: onnx.GraphProto, dims: Mapping[str, int]) -> None:
    """Give the symbolic dimensions of the inputs their numbers.

    A dimension without a name has that of its input and its place there, such as ``x_0``.
    """
    weights = {tensor.name for tensor in graph.initializer}
    symbols = set()
    for value in graph.input:
        for place, dim in enumerate(value.type.tensor_type.shape.dim):
            symbol = dim.dim_param or f"{value.name}_{place}"
            # A size of 0 is an open one where it is the first, which is a batch.
            is_empty = place > 0 and dim.HasField("dim_value") and symbol not in dims
            if value.name in weights or dim.dim_value > 0 or (is_empty and not dim.dim_value):
                continue
            symbols.add(symbol)
            if symbol in dims:
                dim.dim_value = require_integer(
                    f"dimension {symbol}", dims[symbol], NetworkError, least=0
                )
    _check_dims(name, symbols, dims)


def _check_dims(name: str, symbols: set[str], dims: Mapping[str, int]) -> None:
    missing = sorted(symbols - set(dims))
    unknown = [each for each in dims if each not in symbols]
    if missing:
        flag = ",".join(f"{each}=1" for each in missing)
        given = ", ".join(f"{each!r}: 1" for each in missing)
        raise NetworkError(
            f"{name!r} leaves the dimension{'s' * (len(missing) > 1)} {', '.join(missing)} open; "
            f"give a number, such as --dim {flag}, or dims={{{given}}} in Python"
        )
    if unknown:
        allowed = ", ".join(sorted(symbols)) or "none, all have their numbers"
        raise NetworkError(f"{name!r} has no open dimension {quoted(unknown[0])}; open: {allowed}")


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
