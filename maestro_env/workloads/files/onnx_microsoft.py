"""Operators of onnxruntime (``com.microsoft``) as those of ONNX with the same shapes and MACs."""

from __future__ import annotations

from collections.abc import Sequence

import onnx
from onnx import helper

from maestro_env.base.errors import LayerError
from maestro_env.workloads.files.onnx_tensors import Tensor
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
# Attention, some of it with the product before it, and where its past is among the inputs; that
# of ONNX itself is at the same place.
PAST = {
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


def standard(node: onnx.NodeProto) -> Sequence[onnx.NodeProto]:
    """Return an operator that is known here as operators of ONNX, and others as they are."""
    if node.domain != DOMAIN or not node.input or not node.output:
        return [node]
    kind = node.op_type
    if kind in _SAME:
        operator, wanted = _SAME[kind]
        found = _node(operator, node, [node.input[i] for i in wanted if i < len(node.input)])
        return _channels_last(found) if kind == "QLinearAveragePool" else [found]
    if kind in _SHAPE_OF_INPUT:
        kept = [each for each in node.output if each]
        return [helper.make_node("Identity", node.input[:1], [each], node.name) for each in kept]
    if kind == "QLinearConcat":
        return [_node("Concat", node, node.input[2::3])]
    if kind == "FusedMatMul":
        return [_transposing_product(node)]
    if kind == "MatMulNBits":
        return _packed_product(node)
    return [node]


def _node(operator: str, node: onnx.NodeProto, inputs: Sequence[str]) -> onnx.NodeProto:
    found = helper.make_node(operator, inputs, node.output[:1], node.name)
    found.attribute.extend(node.attribute)
    return found


def _channels_last(pool: onnx.NodeProto) -> Sequence[onnx.NodeProto]:
    """Return a pool, between transpositions if its channels come last."""
    attributes = {each.name: helper.get_attribute_value(each) for each in pool.attribute}
    if not attributes.pop("channels_last", 0):
        return [pool]
    rank, (x,), (y,) = len(attributes["kernel_shape"]) + 2, pool.input, pool.output
    first, last = (0, rank - 1, *range(1, rank - 1)), (0, *range(2, rank), 1)
    return [
        helper.make_node("Transpose", [x], [f"{y} channels"], perm=first),
        helper.make_node(pool.op_type, [f"{y} channels"], [f"{y} pooled"], pool.name, **attributes),
        helper.make_node("Transpose", [f"{y} pooled"], [y], perm=last),
    ]


def _transposing_product(node: onnx.NodeProto) -> onnx.NodeProto:
    """Return an Einsum; batches come second where the first dimension goes behind them."""
    flags = {each.name for each in node.attribute if each.name.startswith("trans") and each.i}
    if not flags:
        # It takes matrices of unequal ranks, too.
        return helper.make_node("MatMul", node.input[:2], node.output[:1], node.name)
    sides = []
    for side, plain in (("A", "ik"), ("B", "kj")):
        first, last = reversed(plain) if f"trans{side}" in flags else iter(plain)
        behind = f"transBatch{side}" in flags
        sides.append(f"{first}...{last}" if behind else f"...{first}{last}")
    equation = f"{','.join(sides)}->...ij"
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


# --- Attention ------------------------------------------------------------------------------------


def operands(node: onnx.NodeProto, inputs: Sequence[Tensor | None]) -> list[Shape]:
    """Return queries, keys and values as ``[batch, heads, steps, size]``, the past included.

    Args:
        node: attention of onnxruntime or of ONNX itself.
        inputs: what it reads, None for those left out.

    Raises:
        LayerError: shapes are not known, or do not fit together.
    """
    places = (0, 1, 2, PAST[node.op_type])
    used = [inputs[place] if place < len(inputs) else None for place in places]
    if any(each and each.shape is None for each in used):
        raise LayerError("the shape of an input is not known")
    query, key, value, past = (each.shape if each else None for each in used)
    if query is None or len(query) < 3:
        raise LayerError(f"attention over shape {query and list(query)}")
    attributes = {each.name: each for each in node.attribute}
    heads, query_heads, kv_heads = (
        attributes[each].i if each in attributes else 0
        for each in ("num_heads", "q_num_heads", "kv_num_heads")
    )
    heads, kv_heads = heads or query_heads, kv_heads or heads or query_heads
    widths: Sequence[int] = ()
    if is_weighted(node):
        hidden = attributes["qkv_hidden_sizes"].ints if "qkv_hidden_sizes" in attributes else ()
        widths = hidden or [(key or (0,))[-1] // 3] * 3
    elif len(query) == 5:
        widths = [query[2] * query[4]] * 3
    elif key is None:
        size = query[-1] // max(1, heads + 2 * kv_heads)
        widths = [each * size for each in (heads, kv_heads, kv_heads)]
    elif len(key) == 5:
        key = value = (*key[:2], key[2] * key[4])
    if widths and len(widths) != 3:
        raise LayerError(f"{len(widths)} sizes of queries, keys and values")
    if widths:
        query, key, value = ((*query[:2], each) for each in widths)
    found = [_apart(query, heads), *(_apart(each or (), kv_heads) for each in (key, value))]
    if len({each[0] for each in found}) > 1:
        raise LayerError(f"batches of {', '.join(str(each[0]) for each in found)} side by side")
    more = past[-2] if past and len(past) > 3 else 0
    return [found[0], *((*each[:2], each[2] + more, each[3]) for each in found[1:])]


def is_weighted(node: onnx.NodeProto) -> bool:
    """Whether the second input are the weights of queries, keys and values, side by side."""
    return node.domain == DOMAIN and node.op_type in _WEIGHTED


def _apart(shape: Shape, heads: int) -> Shape:
    """Return ``[batch, heads, steps, size]`` of ``[batch, steps, width]``."""
    if len(shape) == 4:
        return shape
    if len(shape) != 3 or heads < 1 or shape[-1] % heads:
        raise LayerError(f"{heads} heads of shape {list(shape)}")
    batch, steps, width = shape
    return batch, heads, steps, width // heads


def attended(node: onnx.NodeProto, inputs: Sequence[Tensor | None]) -> list[Tensor]:
    """Return the result of attention, and its keys and values with the past; none if unknown."""
    try:
        (batch, heads, steps, _), key, value = operands(node, inputs)
    except LayerError:
        return []
    present = [(2, *key)] if is_weighted(node) else [key, value]
    like = inputs[0] or Tensor()
    return [like.shaped(each) for each in [(batch, steps, heads * value[3]), *present]]
