"""Operators of onnxruntime (``com.microsoft``) as those of ONNX with the same shapes and MACs."""

from __future__ import annotations

from collections.abc import Sequence

import onnx
from onnx import helper

from maestro_env.workloads.operators import Shape

DOMAIN = "com.microsoft"

# Our name of the operator of ONNX, and which of the inputs it takes.
_SAME = {
    "DynamicQuantizeMatMul": ("MatMul", (0, 1)),
    "EmbedLayerNormalization": ("Gather", (2, 0)),
    "FusedConv": ("Conv", (0, 1)),
    "FusedGemm": ("Gemm", (0, 1)),
    "GemmFastGelu": ("MatMul", (0, 1)),
    "MatMulIntegerToFloat": ("MatMul", (0, 1)),
    "QGemm": ("Gemm", (0, 3)),
    "QLinearAdd": ("Add", (0, 3)),
    "QLinearAveragePool": ("AveragePool", (0,)),
    "QLinearGlobalAveragePool": ("GlobalAveragePool", (0,)),
    "QLinearMul": ("Mul", (0, 3)),
}
# Attention, some of it with the product before it, and where the past keys are among the inputs.
_PAST = {
    "Attention": 4,
    "DecoderMaskedMultiHeadAttention": 5,
    "DecoderMaskedSelfAttention": 4,
    "GroupQueryAttention": 3,
    "MultiHeadAttention": 6,
    "QAttention": 8,
}
_WEIGHTED = ("Attention", "DecoderMaskedSelfAttention", "QAttention")
# Every output has the shape of the first input.
_SHAPE_OF_INPUT = (
    "BiasAdd",
    "BiasDropout",
    "BiasGelu",
    "BiasSoftmax",
    "DequantizeLinear",
    "FastGelu",
    "Gelu",
    "GroupNorm",
    "QLinearLeakyRelu",
    "QLinearSigmoid",
    "QLinearSoftmax",
    "QuantizeLinear",
    "QuickGelu",
    "RotaryEmbedding",
    "SimplifiedLayerNormalization",
    "SkipGroupNorm",
    "SkipLayerNormalization",
    "SkipSimplifiedLayerNormalization",
)


def standard(node: onnx.NodeProto, shapes: Sequence[Shape | None]) -> Sequence[onnx.NodeProto]:
    """Return an operator that is known here as operators of the newest ONNX.

    Args:
        node: in the domain of onnxruntime.
        shapes: of its inputs, None where they are not known.
    """
    kind = node.op_type
    if kind in _SAME:
        operator, wanted = _SAME[kind]
        return [_node(operator, node, [node.input[i] for i in wanted if i < len(node.input)])]
    if kind in _SHAPE_OF_INPUT and node.input:
        kept = [each for each in node.output if each]
        return [helper.make_node("Identity", node.input[:1], [each], node.name) for each in kept]
    if kind == "QLinearConcat":
        return [_node("Concat", node, node.input[2::3])]
    if kind in _PAST and len(node.input) > 1 and node.output:
        return _attention(node, shapes) or [node]
    if kind == "FusedMatMul":
        return [_transposing_product(node)]
    if kind == "MatMulNBits":
        return _packed_product(node)
    return [node]


def _node(operator: str, node: onnx.NodeProto, inputs: Sequence[str]) -> onnx.NodeProto:
    found = helper.make_node(operator, inputs, node.output[:1], node.name)
    if operator != "Gather":
        found.attribute.extend(node.attribute)
    return found


class _Nodes:
    """Nodes that stand for one; the tensors between them are called after it."""

    def __init__(self, node: onnx.NodeProto) -> None:
        self.made: list[onnx.NodeProto] = []
        self._node = node

    def add(
        self, operator: str, *inputs: str, outputs: int | Sequence[str] = 1, **more: object
    ) -> Sequence[str]:
        """Add a node, and return the names of its outputs."""
        if isinstance(outputs, int):
            outputs = [f"{self._node.output[0]} {len(self.made)}.{i}" for i in range(outputs)]
        self.made.append(helper.make_node(operator, inputs, outputs, self._node.name, **more))
        return outputs

    def with_numbers(self, operator: str, tensor: str, *numbers: int) -> str:
        """Add a node that reads a tensor and numbers."""
        (read,) = self.add("Constant", value_ints=numbers)
        return self.add(operator, tensor, read)[0]

    def split(self, tensor: str, axis: int, *sizes: int) -> Sequence[str]:
        """Cut a tensor along an axis."""
        (read,) = self.add("Constant", value_ints=sizes)
        return self.add("Split", tensor, read, outputs=len(sizes), axis=axis)

    def flat(self, tensor: str) -> str:
        """Join the axes from the third on, such as heads and their size."""
        return self.with_numbers("Reshape", tensor, 0, 0, -1)


def _attention(node: onnx.NodeProto, shapes: Sequence[Shape | None]) -> Sequence[onnx.NodeProto]:
    """Return attention whose operands are ``[batch, steps, heads * size]``."""
    nodes, attributes = _Nodes(node), {each.name: each for each in node.attribute}
    heads, kv_heads = (
        attributes[each].i if each in attributes else 0 for each in ("num_heads", "kv_num_heads")
    )
    first, results = _PAST[node.op_type], list(node.output[:3])
    past = list(node.input[first : first + 2])
    if node.op_type in _WEIGHTED:
        hidden = attributes["qkv_hidden_sizes"].ints if "qkv_hidden_sizes" in attributes else ()
        inputs = _multiplied(nodes, node, shapes[1], hidden)
        results, past = [results[0], f"{results[0]} keys", f"{results[0]} values"], past[:1]
        if any(past):
            halves = nodes.split(past[0], 0, 1, 1)
            past = [nodes.with_numbers("Squeeze", each, 0) for each in halves]
    else:
        inputs = _unpacked(nodes, node, shapes, heads, kv_heads or heads)
    if not inputs:
        return ()
    counts = {"q_num_heads": heads, "kv_num_heads": kv_heads or heads}
    nodes.add("Attention", *inputs, "", *past, outputs=results, **counts)
    if node.op_type in _WEIGHTED and any(node.output[1:2]):
        both = [nodes.with_numbers("Unsqueeze", each, 0) for each in results[1:]]
        nodes.add("Concat", *both, outputs=node.output[1:2], axis=0)
    return nodes.made


def _multiplied(
    nodes: _Nodes, node: onnx.NodeProto, weights: Shape | None, hidden: Sequence[int]
) -> Sequence[str]:
    """Multiply by weights of queries, keys and values side by side."""
    if not weights:
        return ()
    (product,) = nodes.add("MatMul", *node.input[:2])
    return nodes.split(product, 2, *(hidden or [weights[-1] // 3] * 3))


def _unpacked(
    nodes: _Nodes, node: onnx.NodeProto, shapes: Sequence[Shape | None], heads: int, kv_heads: int
) -> Sequence[str]:
    """Return queries, keys and values, which may be packed into one or two tensors."""
    query, key, value = [*node.input, ""][:3]
    wide, keys = shapes[0], shapes[1] if key else None
    if not wide or (key and not keys):
        return ()
    if len(wide) == 5:
        return [nodes.flat(each) for each in nodes.split(query, 3, 1, 1, 1)]
    if not key:
        size = wide[-1] // max(1, heads + 2 * kv_heads)
        return nodes.split(query, 2, heads * size, kv_heads * size, kv_heads * size)
    if keys and len(keys) == 5:
        return [query, *(nodes.flat(each) for each in nodes.split(key, 3, 1, 1))]
    if keys and len(keys) == 4:
        pair = [nodes.add("Transpose", each, perm=[0, 2, 1, 3])[0] for each in (key, value)]
        return [query, *map(nodes.flat, pair)]
    return [query, key, value]


def _transposing_product(node: onnx.NodeProto) -> onnx.NodeProto:
    flags = {each.name: each.i for each in node.attribute}
    left = "...ki" if flags.get("transA") else "...ik"
    right = "...jk" if flags.get("transB") else "...kj"
    equation = f"{left},{right}->...ij"
    return helper.make_node("Einsum", node.input[:2], node.output[:1], node.name, equation=equation)


def _packed_product(node: onnx.NodeProto) -> Sequence[onnx.NodeProto]:
    """Give weights that are packed into blocks of bits the shape that they stand for."""
    sizes = {each.name: each.i for each in node.attribute}
    weights = onnx.TensorProto(data_type=1, dims=(sizes.get("K", 0), sizes.get("N", 0)))
    name = f"{node.output[0]} weights"
    return [
        helper.make_node("Constant", (), [name], value=weights),
        helper.make_node("MatMul", [node.input[0], name], node.output[:1], node.name),
    ]
