"""What is known of the tensors of an ONNX graph before it runs: types, and values of small ones."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper, shape_inference
from onnx.checker import ValidationError
from onnx.reference import ReferenceEvaluator

from maestro_env.base.errors import LayerError
from maestro_env.workloads.operators import Shape, is_equation

ONNX = ("", "ai.onnx")
"""The names of the domain of ONNX's own operators."""

# Shapes are computed with small tensors, and with fewer fractions, such as the scales of a Resize.
_MOST = {"i": 1024, "b": 1024, "f": 16}
_MOST_AXES = 64
_KINDS = (TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL, TensorProto.FLOAT)
# What shapes are computed with; none of these takes more memory than what it reads and returns.
_COMPUTED = re.compile(
    "Abs|Add|And|Cast|CastLike|Ceil|Clip|Concat|Constant|ConstantOfShape|CumSum|Div|Equal|Expand"
    "|Flatten|Floor|Gather(Elements|ND)?|Greater(OrEqual)?|Identity|Less(OrEqual)?|Max|Min|Mod|Mul"
    "|Neg|NonZero|Not|Or|Pow|Range|Reduce(Max|Min|Prod|Sum)|Reshape|Round|Scatter(Elements|ND)"
    "|Shape|Sign|Size|Slice|Split|Sqrt|Squeeze|Sub|Sum|Tile|Transpose|Unsqueeze|Where|Xor"
)
_REFUSED = re.compile(
    r"\S+ Inference error\(s\): \(op_type:\w+\): \[ShapeInferenceError\] (?!Inf)(.*)"
)
# ONNX infers nothing for two of these, and crashes at axes outside the input for others.
_LIKE_INPUT = re.compile("(Group|Layer|MeanVariance|RMS)Normalization")
_MOVES = ("DepthToSpace", "Flatten", "Reshape", "SpaceToDepth", "Squeeze", "Transpose", "Unsqueeze")


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor: its type, the values of a small one as far as known, whether no input matters."""

    type: onnx.TypeProto | None = None
    array: NDArray[Any] | None = None
    is_constant: bool = False

    @property
    def shape(self) -> Shape | None:
        """Its shape, None where an extent is not known, or NumPy has not so many axes."""
        if self.type is None or not self.type.tensor_type.HasField("shape"):
            return None
        dims = self.type.tensor_type.shape.dim
        if len(dims) > _MOST_AXES:
            return None
        known = all(dim.HasField("dim_value") for dim in dims)
        return tuple(dim.dim_value for dim in dims) if known else None

    @property
    def number(self) -> int | None:
        """Its value, if it is one integer and known."""
        one = self.array is not None and self.array.size == 1 and self.array.dtype.kind in "bi"
        return int(cast(NDArray[Any], self.array).item()) if one else None

    def shaped(self, shape: Sequence[int]) -> Tensor:
        """Return another tensor of its kind of values."""
        kind = self.type.tensor_type.elem_type if self.type else TensorProto.UNDEFINED
        return Tensor(helper.make_tensor_type_proto(kind, shape))


def of_array(array: NDArray[Any]) -> Tensor:
    """Return a tensor whose values are known."""
    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    return Tensor(helper.make_tensor_type_proto(kind, array.shape), array)


def of_weights(weights: TensorProto, folder: Path) -> Tensor:
    """Return the tensor of weights; small ones may be in another file of the folder."""
    tensor = Tensor(
        helper.make_tensor_type_proto(weights.data_type, weights.dims), is_constant=True
    )
    count = -1 if tensor.shape is None else math.prod(tensor.shape)
    if weights.data_type not in _KINDS or not 0 <= count <= _MOST["i"]:
        return tensor
    # The last length counts, and no more than the values are read.
    size = count * helper.tensor_dtype_to_np_dtype(weights.data_type).itemsize
    weights.external_data.add(key="length", value=str(size))
    try:
        array = np.asarray(numpy_helper.to_array(weights, str(folder)))
    except (OSError, TypeError, ValueError, ValidationError):
        return tensor
    return replace(tensor, array=array) if _is_small(array) else tensor


def _is_small(array: NDArray[Any]) -> bool:
    return array.size <= _MOST.get(array.dtype.kind, -1)


def infer(
    node: onnx.NodeProto, inputs: Sequence[Tensor | None], opsets: Mapping[str, int]
) -> list[Tensor]:
    """Return what a node without bodies returns, as far as it is known.

    Args:
        node: of any domain.
        inputs: what it reads; None for those left out.
        opsets: the version of each domain, that of ONNX under an empty name.

    Raises:
        LayerError: the shapes of its inputs do not fit together.
    """
    if not _is_safe(node, inputs):
        return []
    if node.domain in ONNX and _LIKE_INPUT.fullmatch(node.op_type):
        return [Tensor(each.type) for each in inputs[:1] if each]
    model = onnx.ModelProto(ir_version=onnx.IR_VERSION)
    domain = "" if node.domain in ONNX else node.domain
    model.opset_import.add(domain=domain, version=opsets.get(domain, 1))
    alone = model.graph.node.add(op_type=node.op_type, domain=domain)
    alone.attribute.extend(node.attribute)
    alone.input.extend(str(place) if each else "" for place, each in enumerate(inputs))
    alone.output.extend(f"y{place}" for place in range(len(node.output)))
    for place, each in enumerate(inputs):
        if each and each.array is not None:
            model.graph.initializer.append(numpy_helper.from_array(each.array, str(place)))
        elif each and each.type is not None:
            model.graph.input.add(name=str(place), type=each.type)
    return _infer(model.SerializeToString(deterministic=True))


def _is_safe(node: onnx.NodeProto, inputs: Sequence[Tensor | None]) -> bool:
    """Whether inference of ONNX ends, without a crash and in little memory."""
    typed = [each is not None and each.type is not None for each in inputs]
    if typed and not (any(typed) if node.domain in ONNX else all(typed)):
        return False
    for each in node.attribute:
        if node.op_type == "Einsum" and not is_equation(each.s.decode(errors="replace")):
            return False
        if each.name == "num_outputs" and each.i != len(node.output):
            return False
    return True


@lru_cache(1024)
def _infer(content: bytes) -> list[Tensor]:
    """Infer the outputs of a model of one node; many nodes of a network are equal."""
    try:
        model = shape_inference.infer_shapes(content, strict_mode=True)
    except (shape_inference.InferenceError, RuntimeError, ValueError) as error:
        model = onnx.ModelProto.FromString(content)
        refused = _REFUSED.match(str(error))
        # ONNX itself gives a Range tensors of one value, which inference refuses.
        if refused and model.graph.node[0].op_type != "Range":
            raise LayerError(refused[1]) from None
    (node,), graph = model.graph.node, model.graph
    tensors = {each.name: Tensor(each.type) for each in (*graph.input, *graph.value_info)}
    tensors |= {each.name: of_weights(each, Path()) for each in graph.initializer}
    outputs = [tensors.get(name, Tensor()) for name in node.output]
    before, after = (tensors.get(each, Tensor()).shape for each in ("0", "y0"))
    if node.op_type in _MOVES and before and after and math.prod(before) != math.prod(after):
        raise LayerError(f"{math.prod(before)} values do not fit the shape {list(after)}")
    return _computed(model, tensors, outputs)


def _computed(
    model: onnx.ModelProto, tensors: Mapping[str, Tensor], outputs: list[Tensor]
) -> list[Tensor]:
    """Return the outputs with their values, where they are small and those of the inputs known."""
    (node,), measures = model.graph.node, model.graph.node[0].op_type in ("Shape", "Size")
    inputs = {name: tensors.get(name, Tensor()) for name in node.input if name}
    known = (each.shape if measures else each.array for each in inputs.values())
    sizes = [_MOST["i"] + 1 if each.shape is None else math.prod(each.shape) for each in outputs]
    few = max(sizes, default=0) <= _MOST["i"] or node.op_type == "NonZero"
    wanted = not node.domain and _COMPUTED.fullmatch(node.op_type)
    if not wanted or not few or any(each is None for each in known):
        return outputs
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in node.output)
    try:
        # Where a tensor is measured, one value stands for all.
        shapes = {name: each.shape or () for name, each in inputs.items() if measures}
        feeds = {name: np.broadcast_to(np.int8(0), shape) for name, shape in shapes.items()}
        with np.errstate(all="ignore"):
            arrays = [np.asarray(each) for each in ReferenceEvaluator(model).run(None, feeds)]
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError):
        return outputs
    pairs = zip(outputs, arrays, strict=True)
    return [of_array(array) if _is_small(array) else each for each, array in pairs]
