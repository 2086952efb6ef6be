"""Operators of onnxruntime (``com.microsoft``) as those of ONNX with the same shapes and MACs."""

from __future__ import annotations

from collections.abc import Sequence

import onnx
from onnx import helper

DOMAIN = "com.microsoft"

# Our name of the operator of ONNX, and which of the inputs it takes.
_SAME = {
    "DynamicQuantizeMatMul": ("MatMul", (0, 1)),
    "FusedConv": ("Conv", (0, 1)),
    "FusedGemm": ("Gemm", (0, 1)),
    "MatMulIntegerToFloat": ("MatMul", (0, 1)),
    "QGemm": ("Gemm", (0, 3)),
    "QLinearAdd": ("Add", (0, 3)),
    "QLinearAveragePool": ("AveragePool", (0,)),
    "QLinearGlobalAveragePool": ("GlobalAveragePool", (0,)),
    "QLinearMul": ("Mul", (0, 3)),
}
# Where the past keys and values are among the inputs.
_PAST = {"GroupQueryAttention": 3, "MultiHeadAttention": 6}
# Every output has the shape of the first input.
_SHAPE_OF_INPUT = (
    "BiasGelu",
    "FastGelu",
    "Gelu",
    "QLinearLeakyRelu",
    "QLinearSigmoid",
    "QLinearSoftmax",
    "QuickGelu",
    "RotaryEmbedding",
    "SimplifiedLayerNormalization",
    "SkipLayerNormalization",
    "SkipSimplifiedLayerNormalization",
)


def standardise(graph: onnx.GraphProto) -> None:
    """Write the operators that are known here as operators of ONNX, in place."""
    nodes = list(graph.node)
    if not any(node.domain == DOMAIN for node in nodes):
        return
    del graph.node[:]
    for node in nodes:
        graph.node.extend(_standard(node, graph) if node.domain == DOMAIN else [node])


def _standard(node: onnx.NodeProto, graph: onnx.GraphProto) -> Sequence[onnx.NodeProto]:
    kind = node.op_type
    if kind in _SAME:
        operator, wanted = _SAME[kind]
        return [_node(operator, node, [node.input[i] for i in wanted if i < len(node.input)])]
    if kind in _SHAPE_OF_INPUT and node.input:
        kept = [each for each in node.output if each]
        return [helper.make_node("Identity", node.input[:1], [each], node.name) for each in kept]
    if kind == "QLinearConcat":
        return [_node("Concat", node, node.input[2::3])]
    if kind in _PAST and all(node.input[1:3]) and len(node.input) > 2:
        return _attention(node)
    if kind == "FusedMatMul":
        return [_transposing_product(node)]
    if kind == "MatMulNBits":
        return [_packed_product(node, graph)]
    return [node]


def _node(operator: str, node: onnx.NodeProto, inputs: Sequence[str]) -> onnx.NodeProto:
    found = helper.make_node(operator, inputs, node.output[:1], node.name)
    found.attribute.extend(node.attribute)
    return found


def _attention(node: onnx.NodeProto) -> list[onnx.NodeProto]:
    """Return attention, whose result has the shape of the queries."""
    heads = {each.name: each.i for each in node.attribute}
    query_heads = heads.get("num_heads", 0)
    past = _PAST[node.op_type]
    inputs = [*node.input[:3], "", *node.input[past : past + 2]]
    mixed = helper.make_node(
        "Attention",
        inputs,
        [f"{node.output[0]} mixed"],
        node.name,
        q_num_heads=query_heads,
        kv_num_heads=heads.get("kv_num_heads", query_heads),
    )
    return [mixed, helper.make_node("Identity", node.input[:1], node.output[:1])]


def _transposing_product(node: onnx.NodeProto) -> onnx.NodeProto:
    flags = {each.name: each.i for each in node.attribute}
    left = "...ki" if flags.get("transA") else "...ik"
    right = "...jk" if flags.get("transB") else "...kj"
    equation = f"{left},{right}->...ij"
    return helper.make_node("Einsum", node.input[:2], node.output[:1], node.name, equation=equation)


def _packed_product(node: onnx.NodeProto, graph: onnx.GraphProto) -> onnx.NodeProto:
    """Give weights that are packed into blocks of bits the shape that they stand for."""
    sizes = {each.name: each.i for each in node.attribute}
    weights = f"{node.output[0]} weights"
    dims = (sizes.get("K", 0), sizes.get("N", 0))
    graph.initializer.append(onnx.TensorProto(name=weights, data_type=1, dims=dims))
    return helper.make_node("MatMul", [node.input[0], weights], node.output[:1], node.name)
