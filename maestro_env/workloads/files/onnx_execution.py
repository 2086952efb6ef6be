"""Follows the nodes of an ONNX graph: their shapes, and how often each is executed."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat, zip_longest
from pathlib import Path

import numpy as np
import onnx
from onnx import TypeProto

from maestro_env.base.errors import LayerError, NetworkError, quoted
from maestro_env.workloads.files.onnx_microsoft import DOMAIN, PAST, attended, standard
from maestro_env.workloads.files.onnx_tensors import ONNX, Tensor, infer, of_array, of_weights
from maestro_env.workloads.network import batch_of, common_batch

_RANDOM = re.compile("Bernoulli|Dropout|Multinomial|Random(Normal|Uniform)(Like)?")
_DISAGREES = "the file has another shape than the one that follows from the inputs, which counts"
_WRITTEN = "the shape is that in the file, since none follows from the inputs"


@dataclass(eq=False)
class Step:
    """A node that is executed.

    Args:
        node: of the graph, or one of ONNX for it.
        number: its place in the order of execution.
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


_Known = ChainMap[str, Tensor]
_Inputs = Sequence[Tensor | None]
_Results = tuple[list[Tensor], list[Tensor]]
"""What a node with bodies returns, and what they do."""


class Execution:
    """The nodes of a model in the order of their execution.

    Args:
        name: of the model, in messages.
        model: the open dimensions of its inputs have numbers.
        folder: of the file, where small constants may have files of their own.
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
        imports = model.opset_import
        self._opsets = {
            "" if each.domain in ONNX else each.domain: each.version for each in imports
        }
        self._written: dict[str, TypeProto] = {}
        self._steps: list[Step] = []
        inputs = [Tensor(each.type) for each in model.graph.input]
        weights = {each.name for each in model.graph.initializer}
        fed = zip(model.graph.input, inputs, strict=True)
        shapes = [tensor.shape or () for value, tensor in fed if value.name not in weights]
        named = [size for name, size in dims.items() if "batch" in name.lower()]
        self.batch = common_batch(named) if named else batch_of(shapes)
        """Inputs that one execution takes: the dimension called so, or the first one."""
        self._results = self._body(model.graph, inputs, ChainMap())

    def steps(self) -> list[Step]:
        """Return what an output needs; what depends on constants alone is computed before."""
        needed, live = set(self._results), []
        for step in reversed(self._steps):
            if not needed.isdisjoint(step.writes):
                needed.update(filter(None, step.reads))
                live.append(step)
        return [step for step in reversed(live) if not step.writes[0].is_constant]

    def _body(self, graph: onnx.GraphProto, inputs: _Inputs, outer: _Known) -> list[Tensor]:
        """Follow the nodes of a graph, and return its results."""
        known = outer.new_child()
        values = (*graph.input, *graph.output, *graph.value_info)
        self._written.update((each.name, each.type) for each in values)
        for value, given in zip_longest(graph.input, inputs):
            if value is None or given is None:
                raise NetworkError(f"{self._name!r}: a body has other inputs than it is given")
            known[value.name] = self._settle(value.name, given)
        known.update((each.name, of_weights(each, self._folder)) for each in graph.initializer)
        for each in graph.sparse_initializer:
            known[each.values.name] = replace(Tensor().shaped(each.dims), is_constant=True)
        for node in chain.from_iterable(map(standard, graph.node)):
            self._follow(node, known)
        return [self._read(each.name, "the graph", known) for each in graph.output]

    def _read(self, tensor: str, reader: str, known: _Known) -> Tensor:
        """Return a tensor that was written before: else the graph may be cyclic."""
        if tensor not in known:
            raise NetworkError(
                f"{self._name!r}: {reader} reads {quoted(tensor)}, which nothing before it writes; "
                "the graph is cyclic, out of order or incomplete"
            )
        return known[tensor]

    def _settle(self, name: str, found: Tensor) -> Tensor:
        """Return a tensor with the shape in the file where none is inferred."""
        if name not in self._written:
            return found
        dims = self._written[name].tensor_type.shape.dim
        stated = [self._dims.get(each.dim_param, each.dim_value) for each in dims]
        if found.shape is None and min(stated, default=0) > 0:
            self.notes.append((_WRITTEN, name))
            kind = found.type or self._written[name]
            return replace(Tensor(kind).shaped(stated), is_constant=found.is_constant)
        if found.shape is not None and stated and not _agree(found.shape, stated):
            self.notes.append((_DISAGREES, name))
        return found

    def _follow(self, node: onnx.NodeProto, known: _Known) -> None:
        reader, number, ours = label(node), len(self._steps), node.domain in ONNX
        inputs = [self._read(each, reader, known) if each else None for each in node.input]
        bodies, returned = list(bodies_of(node)), list[Tensor]()
        control = {"If": self._if, "Loop": self._loop, "Scan": self._scan}
        if ours and node.op_type in control:
            found, returned = control[node.op_type](node, inputs, known)
        elif bodies:
            found, returned = self._unknown(node, bodies, known)
        else:
            found = self._outputs(node, inputs)
        fixed = ours and not bodies and not _RANDOM.fullmatch(node.op_type)
        fixed = fixed and all(each.is_constant for each in inputs if each)
        writes = []
        results = chain(found, repeat(Tensor()))
        for name, each in zip(node.output, results, strict=False):
            writes.append(self._settle(name, replace(each, is_constant=fixed or each.is_constant)))
            known[name] = writes[-1]
        self._steps.append(Step(node, number, [*inputs, *returned], writes))

    def _outputs(self, node: onnx.NodeProto, inputs: _Inputs) -> list[Tensor]:
        """Return what a node without bodies returns."""
        for each in node.attribute:
            if node.op_type == "Constant" and each.HasField("t"):
                return [of_weights(each.t, self._folder)]
        if node.domain == DOMAIN and node.op_type in PAST:
            return attended(node, inputs)
        try:
            return infer(node, inputs, self._opsets)
        except LayerError as error:
            shapes = [list(each.shape) for each in inputs if each and each.shape is not None]
            raise NetworkError(
                f"{self._name!r}: its shapes do not fit: {label(node)}, of shapes "
                f"{' and '.join(map(str, shapes))}: {error}"
            ) from None

    # --- Nodes with bodies ------------------------------------------------------------------------

    def _unknown(
        self, node: onnx.NodeProto, bodies: Sequence[onnx.GraphProto], known: _Known
    ) -> _Results:
        """Follow bodies of which it is not known how often they are executed."""
        first = len(self._steps)
        results = [self._body(each, [Tensor()] * len(each.input), known) for each in bodies]
        self._repeat(
            first, None, f"in a body of {node.op_type}; whether it is executed is computed"
        )
        alike = zip(*results, strict=False) if len(results) > 1 else ()
        same = [_changing(x) if x.shape == y.shape else Tensor() for x, y, *_ in alike]
        return same, list(chain.from_iterable(results))

    def _repeat(self, first: int, times: int | None, reason: str) -> None:
        """Execute all steps from the first one so often; None where that is not known."""
        for step in self._steps[first:]:
            step.times *= 1 if times is None else max(0, times)
            step.reason = step.reason or (reason if times is None else "")

    def _if(self, node: onnx.NodeProto, inputs: _Inputs, known: _Known) -> _Results:
        then, otherwise = (_attribute(node, each).g for each in ("then_branch", "else_branch"))
        chosen = inputs[0].number if inputs and inputs[0] else None
        if chosen is None:
            return self._unknown(node, (then, otherwise), known)
        results = self._body(then if chosen else otherwise, (), known)
        return results, results

    def _loop(self, node: onnx.NodeProto, inputs: _Inputs, known: _Known) -> _Results:
        trips, going, *states = [*inputs, None, None][: max(2, len(inputs))]
        # A body is executed only while the condition holds.
        first, holds = len(self._steps), of_array(np.array(True))
        given = [_changing(of_array(np.array(0))), holds, *map(_changing, states)]
        goes_on, *results = self._body(_attribute(node, "body").g, given, known) or [Tensor()]
        times, reason = trips.number if trips else None, "its number of steps is not known"
        if (going or holds).number != 1 or goes_on.number != 1:
            times, reason = None, "a condition ends it"
        return self._repeated(node, first, (times, reason), states, results)

    def _scan(self, node: onnx.NodeProto, inputs: _Inputs, known: _Known) -> _Results:
        body, first = _attribute(node, "body").g, len(self._steps)
        axes = chain.from_iterable(each.ints for each in node.attribute if "_axes" in each.name)
        # The first axis was once a batch.
        if any(axes) or self._opsets.get("", 1) < 9:
            return self._unknown(node, [body], known)
        place = max(0, len(inputs) - _attribute(node, "num_scan_inputs").i)
        states, rows = inputs[:place], list(map(_row, inputs[place:]))
        lengths = {length for length, _ in rows}
        times = lengths.pop() if len(lengths) == 1 else None
        given = [*map(_changing, states), *(row for _, row in rows)]
        results = self._body(body, given, known)
        return self._repeated(node, first, (times, "its length is not known"), states, results)

    def _repeated(
        self,
        node: onnx.NodeProto,
        first: int,
        often: tuple[int | None, str],
        states: _Inputs,
        results: list[Tensor],
    ) -> _Results:
        """Return what is carried from step to step, and the rows that the steps return, stacked."""
        (times, reason), carried = often, list(map(_changing, states))
        pairs = zip(carried, results, strict=False)
        if any(before.shape not in (None, after.shape) for before, after in pairs):
            times, reason = None, "its sizes change from step to step"
            carried = [Tensor()] * len(carried)
        self._repeat(first, times, f"in the body of {node.op_type}; {reason}")
        rows = (_stacked(each, times) for each in results[len(carried) :])
        return [*carried, *rows], results


def _attribute(node: onnx.NodeProto, name: str) -> onnx.AttributeProto:
    for each in node.attribute:
        if each.name == name:
            return each
    raise NetworkError(f"{label(node)} has no attribute {name}")


def _changing(tensor: Tensor | None) -> Tensor:
    """Return a tensor whose values are others at every step."""
    return Tensor(tensor.type) if tensor else Tensor()


def _stacked(row: Tensor, times: int | None) -> Tensor:
    if row.shape is None or times is None:
        return Tensor()
    return row.shaped((max(0, times), *row.shape))


def _row(tensor: Tensor | None) -> tuple[int | None, Tensor]:
    """Return the length of a tensor, and one of its rows."""
    if tensor is None or not tensor.shape:
        return None, Tensor()
    return tensor.shape[0], tensor.shaped(tensor.shape[1:])


def _agree(shape: Sequence[int], stated: Sequence[int]) -> bool:
    """Whether shapes are equal; sizes that are 0 in a file are not known."""
    pairs = zip(shape, stated, strict=False)
    return len(shape) == len(stated) and all(b <= 0 or a == b for a, b in pairs)


def bodies_of(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    """Yield the graphs in the attributes of a node."""
    for each in node.attribute:
        yield from [each.g] * each.HasField("g")
        yield from each.graphs


def label(node: onnx.NodeProto) -> str:
    """Return what messages call a node."""
    return f"{node.op_type} {quoted(node.name or ', '.join(node.output))}"
