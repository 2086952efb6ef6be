"""What is known of the tensors of an ONNX graph before it runs: types, and values of small ones."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper, shape_inference
from onnx.reference import ReferenceEvaluator

from maestro_env.base.errors import LayerError
from maestro_env.base.reading import open_regular
from maestro_env.workloads.operators import Shape

ONNX = ("", "ai.onnx")
"""The names of the domain of ONNX's own operators."""

# Sizes, targets of a Reshape, positions: no network computes its shapes with larger tensors.
MOST_VALUES = 1024
# Of other numbers, the scales of a Resize and the ends of a Range give shapes.
_MOST_FRACTIONS = 16
_WHOLE = (onnx.TensorProto.INT64, onnx.TensorProto.INT32, onnx.TensorProto.BOOL)
_FRACTIONS = (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT16)
# What shapes are computed with; none takes more memory than what it reads and returns.
_COMPUTED = re.compile(
    "Abs|Add|And|Cast|CastLike|Ceil|Clip|Concat|Constant|ConstantOfShape|CumSum|Div|Equal|Expand"
    "|Flatten|Floor|Gather(Elements|ND)?|Greater(OrEqual)?|Identity|Less(OrEqual)?|Max|Min|Mod|Mul"
    "|Neg|NonZero|Not|Or|Pow|Range|Reduce(Max|Min|Prod|Sum)|Reshape|Round|Scatter(Elements|ND)"
    "|Shape|Sign|Size|Slice|Split|Sqrt|Squeeze|Sub|Sum|Tile|Transpose|Unsqueeze|Where|Xor"
)
# They move values, so that there are as many before and after.
_MOVES = frozenset(
    ("DepthToSpace", "Flatten", "Reshape", "SpaceToDepth", "Squeeze", "Transpose", "Unsqueeze")
)


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor of a graph.

    Args:
        name: in the graph.
        type: its type and shape, as far as they are known.
        array: its values, where they are few and known.
        is_constant: whether it depends on no input.
    """

    name: str
    type: onnx.TypeProto | None = None
    array: NDArray[Any] | None = None
    is_constant: bool = False

    @property
    def shape(self) -> Shape | None:
        """Its shape, None where an extent is not known."""
        dims = dims_of(self.type) if self.type else None
        return None if dims is None or None in dims else cast(Shape, tuple(dims))

    @property
    def number(self) -> int | None:
        """Its value, if it is one integer and known."""
        if self.array is None or self.array.size != 1 or self.array.dtype.kind not in "biu":
            return None
        return int(self.array.item())

    def changing(self) -> Tensor:
        """Return a tensor of its type that has other values at every step."""
        return Tensor(self.name, self.type)

    def reshaped(self, shape: Shape) -> Tensor:
        """Return another tensor of its kind of values."""
        kind = self.type.tensor_type.elem_type if self.type else 0
        return Tensor(self.name, helper.make_tensor_type_proto(kind, shape))


def dims_of(kind: onnx.TypeProto) -> list[int | None] | None:
    """Return the extents of a type, None for those that are not known, or for all of them."""
    if not kind.tensor_type.HasField("shape"):
        return None
    dims = kind.tensor_type.shape.dim
    return [dim.dim_value if dim.HasField("dim_value") else None for dim in dims]


def of_weights(weights: onnx.TensorProto, folder: Path, name: str = "") -> Tensor:
    """Return the tensor of weights, or of a constant; large ones have no values."""
    kind = helper.make_tensor_type_proto(weights.data_type, list(weights.dims))
    return Tensor(name or weights.name, kind, _values(weights, folder), True)


def _values(weights: onnx.TensorProto, folder: Path) -> NDArray[Any] | None:
    count, kind = math.prod(weights.dims), weights.data_type
    if not _is_small(count, kind in _WHOLE) or kind not in (*_WHOLE, *_FRACTIONS):
        return None
    try:
        if weights.data_location == onnx.TensorProto.EXTERNAL:
            size = count * helper.tensor_dtype_to_np_dtype(kind).itemsize
            data = _beside(weights, folder, size)
            weights = onnx.TensorProto(data_type=kind, dims=weights.dims, raw_data=data)
        return np.asarray(numpy_helper.to_array(weights))
    except (OSError, TypeError, ValueError):
        return None


def _beside(weights: onnx.TensorProto, folder: Path, size: int) -> bytes:
    """Read values from a file in the folder of the model; no other is opened."""
    where = {each.key: each.value for each in weights.external_data}
    path = (folder / where["location"]).resolve() if "location" in where else folder
    if folder.resolve() not in path.parents:
        raise ValueError("the file is in another folder")
    with open_regular(path) as file:
        file.seek(int(where.get("offset", "0")))
        return file.read(size)


def _is_small(count: int, is_whole: bool) -> bool:
    return 0 <= count <= (MOST_VALUES if is_whole else _MOST_FRACTIONS)


def bodies_of(node: onnx.NodeProto) -> list[onnx.GraphProto]:
    """Return the graphs in the attributes of a node."""
    return [
        body
        for each in node.attribute
        for body in ([each.g] * each.HasField("g") + list(each.graphs))
    ]


class Inference:
    """Infers what single nodes return; equal nodes are inferred once.

    Args:
        opsets: the version of each domain.
    """

    def __init__(self, opsets: Mapping[str, int]) -> None:
        self.opset = opsets.get("", opsets.get("ai.onnx", 1))
        """The version of ONNX."""
        self._others = {each: opsets[each] for each in opsets if each not in ONNX}
        self._known: dict[bytes, list[Tensor]] = {}

    def outputs(
        self, node: onnx.NodeProto, inputs: Sequence[Tensor | None], opset: int | None = None
    ) -> list[Tensor]:
        """Return what a node returns, as far as it is known.

        Args:
            node: without the bodies of a loop or a branch.
            inputs: what it reads; None for those left out.
            opset: the version of ONNX, if not that of the model.

        Raises:
            LayerError: the shapes of the inputs do not fit together.
        """
        model = self._alone(node, inputs, opset)
        key = model.SerializeToString(deterministic=True)
        if key not in self._known:
            self._known[key] = _infer(model, inputs)
        found = self._known[key]
        return [replace(each, name=name) for each, name in zip(found, node.output, strict=True)]

    def _alone(
        self, node: onnx.NodeProto, inputs: Sequence[Tensor | None], opset: int | None
    ) -> onnx.ModelProto:
        """Return a model of one node, whose inputs and outputs are called by their places."""
        model = onnx.ModelProto(ir_version=onnx.IR_VERSION)
        domain = "" if node.domain in ONNX else node.domain
        version = self._others.get(domain, 1) if domain else opset or self.opset
        model.opset_import.add(domain=domain, version=version)
        graph = model.graph
        graph.node.add(
            op_type=node.op_type,
            domain=domain,
            attribute=node.attribute,
            input=[str(i) if each else "" for i, each in enumerate(inputs)],
            output=[f"y{i}" for i in range(len(node.output))],
        )
        for place, each in enumerate(inputs):
            if each and each.array is not None:
                graph.initializer.append(numpy_helper.from_array(each.array, str(place)))
            elif each and each.type is not None:
                graph.input.add(name=str(place), type=each.type)
        return model


def _infer(model: onnx.ModelProto, inputs: Sequence[Tensor | None]) -> list[Tensor]:
    (node,) = model.graph.node
    try:
        found = shape_inference.infer_shapes(model, strict_mode=True).graph.value_info
    except shape_inference.InferenceError as error:
        reason = str(error).rpartition("): [")[2].strip()
        if not reason.startswith("ShapeInferenceError] "):
            return [Tensor(name) for name in node.output]
        raise LayerError(reason.partition("] ")[2].splitlines()[0]) from None
    types = {each.name: each.type for each in found}
    outputs = [Tensor(name, types.get(name)) for name in node.output]
    before, after = inputs[0].shape if inputs and inputs[0] else None, outputs[0].shape
    if node.op_type in _MOVES and before and after and math.prod(before) != math.prod(after):
        raise LayerError(f"{math.prod(before)} values do not fit the shape {list(after)}")
    return _compute(model, inputs, outputs)


def _compute(
    model: onnx.ModelProto, inputs: Sequence[Tensor | None], outputs: list[Tensor]
) -> list[Tensor]:
    """Return the outputs with their values, where they are small and the inputs are known."""
    (node,) = model.graph.node
    sizes = [None if each.shape is None else math.prod(each.shape) for each in outputs]
    if node.domain or not _COMPUTED.fullmatch(node.op_type):
        return outputs
    if any(size is None or size > MOST_VALUES for size in sizes) and node.op_type != "NonZero":
        return outputs
    feeds = {}
    if node.op_type in ("Shape", "Size"):
        # Only the shape is read: one value stands for all.
        if inputs[0] is None or inputs[0].shape is None:
            return outputs
        feeds["0"] = np.broadcast_to(np.int8(0), inputs[0].shape)
    elif any(each and each.array is None for each in inputs):
        return outputs
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in node.output)
    try:
        with np.errstate(all="ignore"):
            found = [np.asarray(each) for each in ReferenceEvaluator(model).run(None, feeds)]
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError):
        return outputs
    return [_with(each, array) for each, array in zip(outputs, found, strict=True)]


def _with(tensor: Tensor, array: NDArray[Any]) -> Tensor:
    if array.dtype.kind not in "biuf" or not _is_small(array.size, array.dtype.kind != "f"):
        return tensor
    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    return replace(tensor, type=helper.make_tensor_type_proto(kind, array.shape), array=array)
