"""Follows the nodes of an ONNX graph: their shapes, and how often each is executed."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat, zip_longest
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from maestro_env.base.errors import LayerError, NetworkError, quoted
from maestro_env.workloads.files.onnx_microsoft import DOMAIN, standard
from maestro_env.workloads.files.onnx_tensors import (
    ONNX,
    Inference,
    Tensor,
    bodies_of,
    dims_of,
    of_weights,
)

_RANDOM = re.compile("Bernoulli|Dropout|Multinomial|Random(Normal|Uniform)(Like)?")
_DISAGREES = (
    "the shape in the file is another than that which follows from the inputs, which counts"
)
_WRITTEN = "the shape is that in the file, since none follows from the inputs"


@dataclass(eq=False)
class Step:
    """A node that is executed.

    Args:
        node: as an operator of ONNX, where onnxruntime has one of its own for it.
        number: its place among all nodes.
        reads: its inputs, None for those left out, and what its bodies return.
        writes: its outputs.
        times: how often it is executed.
        reason: why that is not known; empty where it is.
    """

    node: onnx.NodeProto
    number: int
    reads: Sequence[Tensor | None]
    writes: Sequence[Tensor]
    times: int = 1
    reason: str = ""


@dataclass(frozen=True)
class _Scope:
    """The tensors that a node can read, and the types that the file has for what it writes."""

    known: ChainMap[str, Tensor]
    written: Mapping[str, onnx.TypeProto]


_Inputs = Sequence[Tensor | None]
_Results = tuple[list[Tensor], list[Tensor]]
"""What a node with bodies returns, and what they do."""


class Execution:
    """The nodes of a model in the order of their execution.

    Args:
        name: of the model, in messages.
        model: the open dimensions of its inputs have numbers.
        folder: of the file; small constants may be in files there.
        dims: the number of every open dimension.

    Raises:
        NetworkError: shapes do not fit together, or the graph is cyclic.
    """

    def __init__(
        self, name: str, model: onnx.ModelProto, folder: Path, dims: Mapping[str, int]
    ) -> None:
        self.notes: list[tuple[str, str]] = []
        """What there is to say, and of which tensor."""
        self._name, self._folder, self._dims = name, folder, dims
        self._inference = Inference({each.domain: each.version for each in model.opset_import})
        self._number = -1
        self._steps: list[Step] = []
        inputs = [Tensor(each.name, each.type) for each in model.graph.input]
        self._results = self._body(model.graph, inputs, ChainMap())

    def steps(self) -> list[Step]:
        """Return what an output needs; what depends on constants alone is computed before."""
        needed = set(self._results)
        live = []
        for step in reversed(self._steps):
            if not needed.isdisjoint(step.writes):
                needed.update(filter(None, step.reads))
                live.append(step)
        return [step for step in reversed(live) if not step.writes[0].is_constant]

    def _body(
        self, graph: onnx.GraphProto, inputs: Sequence[Tensor], outer: ChainMap[str, Tensor]
    ) -> list[Tensor]:
        """Follow the nodes of a graph, and return its results."""
        values = (*graph.input, *graph.output, *graph.value_info)
        scope = _Scope(outer.new_child(), {each.name: each.type for each in values})
        for value, given in zip_longest(graph.input, inputs):
            if value is None or given is None:
                raise NetworkError(f"{self._name!r}: a body has other inputs than it is given")
            scope.known[value.name] = self._settle(replace(given, name=value.name), scope)
        for weights in graph.initializer:
            scope.known[weights.name] = of_weights(weights, self._folder)
        for sparse in graph.sparse_initializer:
            kind = helper.make_tensor_type_proto(sparse.values.data_type, list(sparse.dims))
            name = sparse.values.name
            scope.known[name] = Tensor(name, kind, is_constant=True)
        for node in graph.node:
            self._standardise(node, scope)
        return [self._read(each.name, "the graph", scope) for each in graph.output]

    def _read(self, tensor: str, reader: str | onnx.NodeProto, scope: _Scope) -> Tensor:
        """Return a tensor that was written before: else the graph may be cyclic."""
        found = scope.known.get(tensor)
        if found is None:
            reader = reader if isinstance(reader, str) else label(reader)
            raise NetworkError(
                f"{self._name!r}: {reader} reads {quoted(tensor)}, which nothing before it writes; "
                "the graph is cyclic, out of order or incomplete"
            )
        return found

    def _settle(self, found: Tensor, scope: _Scope) -> Tensor:
        """Complete a tensor by what the file says of its shape; what is inferred counts first."""
        written = scope.written.get(found.name)
        if written is None or not written.tensor_type.HasField("shape") or found.array is not None:
            return found
        stated = self._stated(written)
        inferred = dims_of(found.type) if found.type else None
        if inferred is None:
            merged = stated
        elif _agree(inferred, stated):
            merged = [i if s is None else s for i, s in zip(inferred, stated, strict=True)]
        else:
            self.notes.append((_DISAGREES, found.name))
            return found
        if merged == inferred:
            return found
        self.notes.append((_WRITTEN, found.name))
        kind = found.type or written
        return replace(
            found, type=helper.make_tensor_type_proto(kind.tensor_type.elem_type, merged)
        )

    def _stated(self, written: onnx.TypeProto) -> list[int | None]:
        """Return the extents that the file has; 0 stands for one that is not known."""
        dims = written.tensor_type.shape.dim
        sizes = [self._dims.get(each.dim_param, each.dim_value) for each in dims]
        return [size if size > 0 else None for size in sizes]

    def _standardise(self, node: onnx.NodeProto, scope: _Scope) -> None:
        """Follow a node; one of onnxruntime's as nodes of the newest ONNX."""
        if node.domain != DOMAIN:
            self._follow(node, scope)
            return
        inputs = self._inputs(node, scope)
        for each in standard(node, [tensor.shape if tensor else None for tensor in inputs]):
            self._follow(each, scope, onnx.defs.onnx_opset_version())

    def _inputs(self, node: onnx.NodeProto, scope: _Scope) -> list[Tensor | None]:
        return [self._read(each, node, scope) if each else None for each in node.input]

    def _follow(self, node: onnx.NodeProto, scope: _Scope, opset: int | None = None) -> None:
        self._number += 1
        number, inputs, bodies = self._number, self._inputs(node, scope), bodies_of(node)
        ours, returned = node.domain in ONNX, list[Tensor]()
        if ours and node.op_type in _CONTROL:
            found, returned = _CONTROL[node.op_type](self, node, inputs, scope)
        elif bodies:
            reason = f"in the body of {node.op_type}; how often it is executed is not known"
            returned = [each for some in self._unknown(bodies, scope, reason) for each in some]
            found = []
        else:
            found = self._outputs(node, inputs, opset)
        is_fixed = ours and not bodies and not _RANDOM.fullmatch(node.op_type)
        is_fixed = is_fixed and all(each.is_constant for each in inputs if each)
        writes = []
        for name, each in zip_longest(node.output, found[: len(node.output)]):
            each = each or Tensor(name)
            output = replace(each, name=name, is_constant=is_fixed or each.is_constant)
            writes.append(self._settle(output, scope))
            scope.known[name] = writes[-1]
        self._steps.append(Step(node, number, [*inputs, *returned], writes))

    def _outputs(self, node: onnx.NodeProto, inputs: _Inputs, opset: int | None) -> list[Tensor]:
        for each in node.attribute:
            if node.op_type == "Constant" and each.HasField("t"):
                return [of_weights(each.t, self._folder)]
        try:
            return self._inference.outputs(node, inputs, opset)
        except LayerError as error:
            shapes = [list(each.shape) for each in inputs if each and each.shape is not None]
            raise NetworkError(
                f"{self._name!r}: its shapes do not fit: {label(node)}, of shapes "
                f"{' and '.join(map(str, shapes))}: {error}"
            ) from None

    # --- Nodes with bodies ------------------------------------------------------------------------

    def _unknown(
        self, bodies: Sequence[onnx.GraphProto], scope: _Scope, reason: str
    ) -> list[list[Tensor]]:
        """Follow bodies of which it is not known how often they are executed."""
        first = len(self._steps)
        unknown = [[Tensor(each.name) for each in body.input] for body in bodies]
        pairs = zip(bodies, unknown, strict=True)
        results = [self._body(body, inputs, scope.known) for body, inputs in pairs]
        self._repeat(first, None, reason)
        return results

    def _repeat(self, first: int, times: int | None, reason: str) -> None:
        """Execute all steps from the first one so often; None where that is not known."""
        for step in self._steps[first:]:
            step.times *= 1 if times is None else times
            step.reason = step.reason or (reason if times is None else "")

    def _if(self, node: onnx.NodeProto, inputs: _Inputs, scope: _Scope) -> _Results:
        branches = [self._attribute(node, name).g for name in ("then_branch", "else_branch")]
        chosen = inputs[0].number if inputs and inputs[0] else None
        if chosen is not None:
            results = self._body(branches[0 if chosen else 1], (), scope.known)
            return results, results
        both = self._unknown(branches, scope, "in a branch of If, whose condition is computed")
        pairs = zip(*both, strict=False)
        alike = [one.changing() if one.shape == other.shape else Tensor("") for one, other in pairs]
        return alike, [*both[0], *both[1]]

    def _loop(self, node: onnx.NodeProto, inputs: _Inputs, scope: _Scope) -> _Results:
        trips, going, *states = [*inputs, None, None][: max(2, len(inputs))]
        first = len(self._steps)
        iteration = Tensor("", helper.make_tensor_type_proto(TensorProto.INT64, []))
        # A body is executed only while the condition holds.
        holds = Tensor("", array=np.array(True))
        carried = [each.changing() if each else Tensor("") for each in states]
        given = [iteration, holds, *carried]
        returned = self._body(self._attribute(node, "body").g, given, scope.known)
        times, reason = _trips(trips, going, returned[0] if returned else holds)
        return self._repeated(node, first, times, reason, carried, returned[1:])

    def _scan(self, node: onnx.NodeProto, inputs: _Inputs, scope: _Scope) -> _Results:
        states = max(0, len(inputs) - self._attribute(node, "num_scan_inputs").i)
        axes = {each.name: each.ints for each in node.attribute}
        first = len(self._steps)
        carried = [each.changing() if each else Tensor("") for each in inputs[:states]]
        along = zip(
            inputs[states:], chain(axes.get("scan_input_axes", ()), repeat(0)), strict=False
        )
        slices = [_slice(each, axis) for each, axis in along]
        lengths = {length for length, _ in slices}
        times = lengths.pop() if len(lengths) == 1 and self._inference.opset > 8 else None
        given = [*carried, *(each for _, each in slices)]
        returned = self._body(self._attribute(node, "body").g, given, scope.known)
        reason = "the length of its inputs is not known"
        to = axes.get("scan_output_axes", ())
        return self._repeated(node, first, times, reason, carried, returned, to)

    def _repeated(
        self,
        node: onnx.NodeProto,
        first: int,
        times: int | None,
        reason: str,
        carried: Sequence[Tensor],
        returned: Sequence[Tensor],
        axes: Sequence[int] = (),
    ) -> _Results:
        """Return the last of what is carried from step to step, and the rest of all steps."""
        pairs = zip(carried, returned, strict=False)
        if any(before.shape not in (None, after.shape) for before, after in pairs):
            times, reason = None, "its sizes change from step to step"
            carried = [Tensor("")] * len(carried)
        self._repeat(first, times, f"in the body of {node.op_type}; {reason}")
        rows = zip(returned[len(carried) :], chain(axes, repeat(0)), strict=False)
        return [*carried, *(_stacked(each, times, axis) for each, axis in rows)], list(returned)

    def _attribute(self, node: onnx.NodeProto, name: str) -> onnx.AttributeProto:
        for each in node.attribute:
            if each.name == name:
                return each
        raise NetworkError(f"{self._name!r}: {label(node)} has no attribute {name}")


_CONTROL: Mapping[str, Callable[[Execution, onnx.NodeProto, _Inputs, _Scope], _Results]] = {
    "If": Execution._if,
    "Loop": Execution._loop,
    "Scan": Execution._scan,
}


def _trips(trips: Tensor | None, going: Tensor | None, goes_on: Tensor) -> tuple[int | None, str]:
    """Return how often the body of a loop is executed, or why that is not known."""
    if going and going.number == 0:
        return 0, ""
    if (going and going.number is None) or goes_on.number is None:
        return None, "a condition that is computed ends it"
    most = trips.number if trips else None
    if goes_on.number == 0:
        most = 1 if most is None else min(most, 1)
    if most is None:
        return None, "its number of steps is computed" if trips else "nothing ends it"
    return max(0, most), ""


def _slice(tensor: Tensor | None, axis: int) -> tuple[int | None, Tensor]:
    """Return the length of a tensor along an axis, and one of its slices."""
    shape = tensor.shape if tensor else None
    if tensor is None or shape is None or not -len(shape) <= axis < len(shape):
        return None, Tensor("")
    axis %= len(shape)
    return shape[axis], tensor.reshaped((*shape[:axis], *shape[axis + 1 :]))


def _stacked(row: Tensor, times: int | None, axis: int) -> Tensor:
    """Return the tensor of the rows of all steps."""
    if row.shape is None or times is None:
        return Tensor("")
    axis %= len(row.shape) + 1
    return row.reshaped((*row.shape[:axis], times, *row.shape[axis:]))


def _agree(inferred: Sequence[int | None], stated: Sequence[int | None]) -> bool:
    pairs = zip(inferred, stated, strict=False)
    fit = all(None in pair or pair[0] == pair[1] for pair in pairs)
    return fit and len(inferred) == len(stated)


def label(node: onnx.NodeProto) -> str:
    """Return what messages call a node."""
    return f"{node.op_type} {quoted(node.name or ', '.join(node.output))}"
