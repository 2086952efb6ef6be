"""Every operator of ONNX that is mapped, against closed forms and against NumPy and ONNX itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from onnx_models import model, node, save
from workload_helpers import facts

from maestro_env.workloads.finding import find_network
from maestro_env.workloads.network import Network

reference = pytest.importorskip("onnx.reference")
shape_inference = pytest.importorskip("onnx.shape_inference")

Case = tuple[str, str, Mapping[str, Any], str]
"""An operator, the shapes of its inputs, its attributes, and its layers."""

OURS = {"domain": "com.microsoft"}
MULTIPLIED = "1 NGCONV G6 K3 C1 Y9 X9 R3 S3"
HEADS = "6 GEMM M7 N9 K4, 6 GEMM M7 N5 K9"
PAST = "6 GEMM M7 N20 K4, 6 GEMM M7 N5 K20"

CONVOLUTIONS: list[Case] = [
    ("Conv", "x=1x4x9x8 w=6x4x3x2 b=6", {}, "1 CONV K6 C4 Y9 X8 R3 S2"),
    ("Conv", "x=1x4x9x8 w=6x4x3x2", {"strides": [2, 3]}, "1 CONV K6 C4 Y9 X8 R3 S2 stride 2x3"),
    ("Conv", "x=1x4x9x8 w=6x4x3x2", {"pads": [1, 2, 3, 4]}, "1 CONV K6 C4 Y13 X14 R3 S2"),
    ("Conv", "x=1x4x9x8 w=6x4x3x2", {"auto_pad": "VALID"}, "1 CONV K6 C4 Y9 X8 R3 S2"),
    ("Conv", "x=1x4x9x8 w=6x4x3x2", {"auto_pad": "SAME_UPPER"}, "1 CONV K6 C4 Y11 X9 R3 S2"),
    (
        "Conv",
        "x=1x4x9x8 w=6x4x3x2",
        {"auto_pad": "SAME_LOWER", "strides": [2, 3]},
        "1 CONV K6 C4 Y11 X8 R3 S2 stride 2x3",
    ),
    ("Conv", "x=1x4x9x8 w=6x4x3x2", {"dilations": [3, 1]}, "1 CONV K6 C4 Y3 X8 R3 S2 N3"),
    (
        "Conv",
        "x=1x4x9x8 w=6x4x3x2",
        {"dilations": [2, 1], "strides": [2, 1]},
        "1 CONV K6 C4 Y5 X8 R3 S2",
    ),
    (
        "Conv",
        "x=1x4x9 w=6x4x3",
        {"strides": [2], "pads": [1, 0]},
        "1 CONV K6 C4 Y10 X1 R3 S1 stride 2x1",
    ),
    ("Conv", "x=1x6x9x9 w=6x1x3x3", {"group": 6}, "1 DSCONV C6 Y9 X9 R3 S3"),
    ("Conv", "x=1x6x9x9 w=18x1x3x3", {"group": 6}, MULTIPLIED),
    ("Conv", "x=1x6x9x9 w=4x3x3x3", {"group": 2}, "1 NGCONV G2 K2 C3 Y9 X9 R3 S3"),
    ("Conv", "x=5x6x9x9 w=3x2x3x3", {"group": 3}, "1 NGCONV G3 K1 C2 Y9 X9 R3 S3 N5"),
    ("QLinearConv", "x=1x4x9x9 s= z= w=6x4x3x3 s z s z", {}, "1 CONV K6 C4 Y9 X9 R3 S3"),
    ("ConvInteger", "x=1x4x9x9 w=6x4x3x3 z= z", {}, "1 CONV K6 C4 Y9 X9 R3 S3"),
    ("FusedConv", "x=1x4x9x9 w=6x4x3x3", OURS | {"activation": "Relu"}, "1 CONV K6 C4 Y9 X9 R3 S3"),
    (
        "CausalConvWithState",
        "x=1x4x9 w=4x1x3",
        {"opset": 27, "outputs": "y state"},
        "1 DSCONV C4 Y11 X1 R3 S1",
    ),
]
PRODUCTS: list[Case] = [
    ("MatMul", "a=4x5 b=5x6", {}, "1 GEMM M4 N6 K5"),
    ("MatMul", "a=2x3x4x5 b=5x6", {}, "1 GEMM M24 N6 K5"),
    ("MatMul", "a=2x3x4x5 b=2x3x5x6", {}, "6 GEMM M4 N6 K5"),
    ("MatMul", "a=4x5 b=3x5x6", {}, "1 GEMM M4 N18 K5"),
    ("MatMul", "a=2x1x4x5 b=3x5x6", {}, "1 GEMM M8 N18 K5"),
    ("MatMul", "a=2x3x4x5 b=2x1x5x6", {}, "2 GEMM M12 N6 K5"),
    ("MatMul", "a=5 b=5", {}, "1 GEMM M1 N1 K5"),
    ("MatMul", "a=5 b=5x6", {}, "1 GEMM M1 N6 K5"),
    ("MatMul", "a=3x4x5 b=5", {}, "1 GEMM M12 N1 K5"),
]
EINSUMS: list[Case] = [
    ("Einsum", shapes, {"equation": equation}, layers)
    for equation, shapes, layers in [
        ("bhld,bhsd->bhls", "a=2x3x4x5 b=2x3x7x5", "6 GEMM M4 N7 K5"),
        ("...ij,...jk", "a=2x4x5 b=2x5x6", "2 GEMM M4 N6 K5"),
        ("ij,jk", "a=4x5 b=5x6", "1 GEMM M4 N6 K5"),
        ("bij,jk->bik", "a=3x4x5 b=5x6", "1 GEMM M12 N6 K5"),
        ("bchw,kc->bkhw", "a=2x3x4x5 b=7x3", "1 GEMM M40 N7 K3"),
        ("ij,ij->i", "a=4x5 b=4x5", "4 GEMM M1 N1 K5"),
        ("i,j->ij", "a=4 b=5", "1 GEMM M4 N5 K1"),
        ("ij,jk,kl->il", "a=2x3 b=3x4 c=4x5", "1 GEMM M2 N4 K3, 1 GEMM M2 N5 K4"),
        ("ii,ij->j", "a=4x4 b=4x5", "1 GEMM M1 N5 K4"),
        ("bi,bj->j", "a=3x1 b=3x5", "1 GEMM M1 N5 K3"),
        ("mk,kn->mn", "a=64x1 b=1x1", "1 GEMM M64 N1 K1"),
        ("mk,kn->mn", "a=1x1 b=1x64", "1 GEMM M1 N64 K1"),
        ("...k,k->...", "a=2x3x1 b=1", "1 GEMM M6 N1 K1"),
        ("m,n->mn", "a=64 b=1", "1 GEMM M64 N1 K1"),
    ]
]
OTHERS: list[Case] = [
    ("Gemm", "a=4x5 b=5x6", {}, "1 GEMM M4 N6 K5"),
    ("Gemm", "a=5x4 b=6x5", {"transA": 1, "transB": 1}, "1 GEMM M4 N6 K5"),
    ("QLinearMatMul", "a=4x5 s= z= b=5x6 s z s z", {}, "1 GEMM M4 N6 K5"),
    ("MatMulInteger", "a=4x5 b=5x6 z= z", {}, "1 GEMM M4 N6 K5"),
    ("QGemm", "a=4x5 s= z= b=5x6 s z", OURS, "1 GEMM M4 N6 K5"),
    ("FusedGemm", "a=4x5 b=5x6", OURS | {"activation": "Relu"}, "1 GEMM M4 N6 K5"),
    ("FusedMatMul", "a=4x5 b=4x6", OURS | {"transA": 1}, "1 GEMM M5 N6 K4"),
    ("FusedMatMul", "a=1x4x8 b=4x8x6", OURS | {"transBatchA": 1}, "4 GEMM M1 N6 K8"),
    ("FusedMatMul", "a=2x5x3 b=3x4", OURS, "1 GEMM M10 N4 K3"),
    ("MatMulNBits", "a=4x5 b=5x6", OURS | {"K": 5, "N": 32}, "1 GEMM M4 N32 K5"),
    ("DynamicQuantizeMatMul", "a=4x5 b=5x6 s=", OURS, "1 GEMM M4 N6 K5"),
    ("Attention", "q=2x3x7x4 k=2x3x9x4 v=2x3x9x5", {}, HEADS),
    ("Attention", "q=2x7x12 k=2x9x12 v=2x9x15", {"q_num_heads": 3, "kv_num_heads": 3}, HEADS),
    ("Attention", "q=2x3x7x4 k=2x3x9x4 v=2x3x9x5 _ p=2x3x11x4 p", {}, PAST),
    ("Attention", "q=2x6x7x4 k=2x3x9x4 v=2x3x9x5", {}, HEADS.replace("6 GEMM", "12 GEMM")),
    *(
        (
            operator,
            f"x=7x2x5 w={directions}x{gates * 6}x5 r={directions}x{gates * 6}x6",
            {"hidden_size": 6, "direction": direction},
            f"{directions} GEMM M14 N{6 * gates} K5, {7 * directions} GEMM M2 N{6 * gates} K6",
        )
        for operator, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1))
        for directions, direction in ((1, "forward"), (2, "bidirectional"))
    ),
]


def shapes_of(inputs: str) -> dict[str, list[int]]:
    """Read ``a=4x5 s=``: a matrix and a number."""
    pairs = (each.split("=") for each in inputs.split() if "=" in each)
    return {name: [int(size) for size in filter(None, shape.split("x"))] for name, shape in pairs}


def read(folder: Path, case: Case, *more: Any, **shapes: list[int]) -> Network:
    """Read a network of one operator, or more."""
    operator, inputs, attributes, _ = case
    attributes = dict(attributes)
    opset, outputs = attributes.pop("opset", 23), attributes.pop("outputs", "y")
    names = " ".join(each.partition("=")[0] for each in inputs.split())
    nodes = [node(operator, names, outputs, **attributes), *more]
    domains = {"domains": [OURS["domain"]]} if "domain" in attributes else {}
    made = model(nodes, shapes_of(inputs) | shapes, opset=opset, **domains)
    return find_network(save(folder, made))


@pytest.mark.parametrize(
    "case", [*CONVOLUTIONS, *PRODUCTS, *EINSUMS, *OTHERS], ids=lambda case: " ".join(case[:2])
)
def test_operators_have_their_layers(tmp_path: Path, case: Case) -> None:
    network = read(tmp_path, case)
    assert network.left_out == ()
    assert facts(network) == case[3]
    if case[0] == "Attention":
        assert [each.name.rpartition(".")[2] for each in network.layers] == ["scores", "context"]
        assert (case[3][:2] == "12") == bool(network.notes)


@pytest.mark.parametrize("case", PRODUCTS, ids=lambda case: case[1])
def test_products_have_the_macs_of_numpy(tmp_path: Path, case: Case) -> None:
    left, right = map(np.ones, shapes_of(case[1]).values())
    assert read(tmp_path, case).macs == np.matmul(left, right).size * left.shape[-1]


@pytest.mark.parametrize("case", EINSUMS[:6], ids=lambda case: case[2]["equation"])
def test_einsums_have_the_macs_of_numpy(tmp_path: Path, case: Case) -> None:
    """Each product and its sum are two operations there."""
    operands = map(np.ones, shapes_of(case[1]).values())
    text = np.einsum_path(case[2]["equation"], *operands, optimize=False)[1]
    (count,) = (line for line in text.splitlines() if "Naive FLOP" in line)
    expected = float(count.split(":")[1]) / 2
    assert read(tmp_path, case).macs == pytest.approx(expected, rel=0.01)


@given(st.data())
def test_macs_of_any_convolution_are_its_outputs_times_its_window(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Outputs as ONNX itself computes them, on values."""
    axes, groups = data.draw(st.integers(1, 2)), data.draw(st.integers(1, 3))
    sizes = [data.draw(st.integers(3, 9)) for _ in range(axes)]
    windows = [data.draw(st.integers(1, 3)) for _ in range(axes)]
    attributes: dict[str, Any] = {"group": groups}
    for name in ("strides", "dilations"):
        attributes[name] = [data.draw(st.integers(1, 3)) for _ in range(axes)]
    attributes["pads"] = [data.draw(st.integers(0, 2)) for _ in range(2 * axes)]
    reach = [(k - 1) * d for k, d in zip(windows, attributes["dilations"], strict=True)]
    padded = [sum(attributes["pads"][i::axes]) + size for i, size in enumerate(sizes)]
    assume(all(size > each for size, each in zip(padded, reach, strict=True)))
    inside = data.draw(st.integers(1, 2))
    shapes = {
        "x": [data.draw(st.integers(1, 2)), groups * inside, *sizes],
        "w": [groups * data.draw(st.integers(1, 2)), inside, *windows],
    }
    made = model([node("Conv", "x w", **attributes)], shapes)
    path = save(tmp_path_factory.mktemp("net"), made)
    values = {name: np.ones(shape, np.float32) for name, shape in shapes.items()}
    (outputs,) = reference.ReferenceEvaluator(made).run(None, values)
    network = find_network(path)
    assert network.macs == outputs.size * math.prod(shapes["w"][1:])


TRANSPOSED = {
    "stride divides the window": ({"strides": [2, 2], "pads": [1, 1, 1, 1]}, 4, [(2, 2, 4)], 1.0),
    "one tap an output": ({"strides": [3, 3]}, 3, [(1, 1, 9)], 1.0),
    "no stride": ({}, 3, [(3, 3, 1)], None),
    "taps left over": (
        {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]},
        3,
        [(1, 1, 1), (1, 2, 1), (2, 1, 1), (2, 2, 1)],
        1.0,
    ),
    "outputs given": ({"strides": [2, 2], "output_shape": [16, 16]}, 4, [(2, 2, 4)], 1.0),
    "same": ({"strides": [2, 2], "auto_pad": "SAME_UPPER"}, 4, [(2, 2, 4)], 1.0),
}


@pytest.mark.parametrize(
    ("attributes", "window", "expected", "ratio"), TRANSPOSED.values(), ids=TRANSPOSED
)
def test_transposed_convolutions(
    tmp_path: Path, attributes: Any, window: int, expected: Any, ratio: float | None
) -> None:
    inputs = f"x=1x4x8x8 w=4x6x{window}x{window}"
    network = read(tmp_path, ("ConvTranspose", inputs, attributes, ""))
    found = [(x.extents["R"], x.extents["S"], x.count) for x in network.layers]
    assert sorted(found) == expected
    assert all((x.extents["K"], x.extents["C"]) == (6, 4) for x in network.layers)
    macs = 4 * 8 * 8 * 6 * window * window
    assert ratio is None or network.macs == ratio * macs
    (note,) = network.notes
    assert "transposed convolution" in note
    assert note.endswith(f"; {network.macs / macs:.3g} times the MACs")


def test_quantised_weights_are_weights(tmp_path: Path) -> None:
    more = [
        node("DequantizeLinear", "q s z", "d"),
        node("DequantizeLinear", "w s z", "f"),
        node("Conv", "d f", "y"),
    ]
    first = ("QuantizeLinear", "x=1x4x9x9 s= z= w=6x4x3x3", {"outputs": "q"}, "")
    assert facts(read(tmp_path, first, *more)) == "1 CONV K6 C4 Y9 X9 R3 S3"


def test_shapes_survive_operators_of_onnxruntime(tmp_path: Path) -> None:
    nodes = [
        node("QLinearConv", "x s z w s z s z", "a"),
        node("QLinearAdd", "a s z a s z s z", "b", **OURS),
        node("QLinearSigmoid", "b s z s z", "c", **OURS),
        node("QLinearConcat", "s z b s z c s z", "d", axis=1, **OURS),
        node("QLinearAveragePool", "d s z s z", "p", kernel_shape=[7, 7], **OURS),
        node("QLinearGlobalAveragePool", "p s z s z", "e", channels_last=0, **OURS),
        node("SkipLayerNormalization", "e e s", "f", **OURS),
        node("Conv", "f v", "y"),
    ]
    shapes = shapes_of("x=1x4x9x9 w=6x4x3x3 s= z= v=3x12x1x1")
    found = find_network(save(tmp_path, model(nodes, shapes, domains=["com.microsoft"])))
    assert facts(found) == "1 CONV K6 C4 Y9 X9 R3 S3, 1 CONV K3 C12 Y1 X1 R1 S1"


EQUAL = "6 GEMM M7 N9 K4, 6 GEMM M7 N4 K9"
ONLY = "6 GEMM M7 N7 K4, 6 GEMM M7 N4 K7"
# By hand: a batch of 2, 3 heads, 7 queries of size 4; keys and values as given, or packed.
LANGUAGE_MODELS: list[Case] = [
    (
        "GroupQueryAttention",
        "Q=2x7x12 g=2x9x4 h=2x9x5 p=2x1x11x4 p s= s",
        {"kv_num_heads": 1},
        PAST,
    ),
    ("GroupQueryAttention", "Q=2x7x20 _ _ p=2x1x0x4 p s= s", {"kv_num_heads": 1}, ONLY),
    ("MultiHeadAttention", "Q=2x7x12 K=2x9x12 V=2x9x15 _ _ _ p=2x3x11x4 p", {}, PAST),
    ("MultiHeadAttention", "Q=2x7x12 K=2x9x12 V=2x9x15", {}, HEADS),
    ("MultiHeadAttention", "Q=2x7x12 K=2x3x9x4 V=2x3x9x5", {}, HEADS),
    ("MultiHeadAttention", "Q=2x7x12 K=2x9x3x2x4", {}, EQUAL),
    ("MultiHeadAttention", "Q=2x7x3x3x4", {}, ONLY),
    ("Attention", "x=2x7x10 v=10x36", {}, f"1 GEMM M14 N36 K10, {ONLY}"),
    (
        "Attention",
        "x=2x7x10 v=10x39 b=39 _ p=2x2x3x2x4",
        {"qkv_hidden_sizes": [12, 12, 15]},
        f"1 GEMM M14 N39 K10, {HEADS}",
    ),
    ("QAttention", "x=2x7x10 v=10x36 b=36 s= s _ s s", {}, f"1 GEMM M14 N36 K10, {ONLY}"),
]


@pytest.mark.parametrize("case", LANGUAGE_MODELS, ids=lambda case: " ".join(case[:2]))
def test_attention_of_onnxruntime(tmp_path: Path, case: Case) -> None:
    operator, inputs, attributes, layers = case
    # The opset is older than attention as an operator of its own.
    more = {**OURS, "num_heads": 3, "opset": 17, "outputs": "m", **attributes}
    after = [node("SkipLayerNormalization", "m m s", "n", **OURS), node("MatMul", "n w")]
    # Values have the size of the last product's columns.
    width = 3 * int(layers.split("N")[-1].split()[0])
    network = read(tmp_path, (operator, inputs, more, ""), *after, w=[width, 8], s=[])
    assert facts(network) == f"{layers}, 1 GEMM M14 N8 K{width}"
    assert network.left_out == ()


# Operators that are left out, or have no MACs, beside one of 120 MACs.
BESIDE = [
    ("Einsum", "a=4x5 b=5x6", {"equation": "ij,jk->ii"}, "an einsum whose result is"),
    ("Einsum", "a=4x5 b=5x6", {"equation": "ij,jk->i...i"}, "an einsum whose result is"),
    ("Einsum", "a=2x3 b=3x4", {"equation": "ii,ij->j"}, "dimension i of one operand is 2 and 3"),
    ("Conv", "x=1x8x9x9 b=8x8x3x3", {"kernel_shape": [5, 5]}, "kernel_shape is [5, 5]"),
    ("ConvTranspose", "x=1x8x9x9 b=8x8x3x3", {"kernel_shape": [5, 5]}, "kernel_shape is [5, 5]"),
    ("LSTM", "x=3x2x5 w=1x24x4 r=1x24x6", {}, "weights [1, 24, 4] and [1, 24, 6] for inputs"),
    ("Attention", "q=2x3x4x5 k=1x3x4x5 v=2x3x4x5", {}, "batches of 2, 1, 2"),
    ("Einsum", "a=4x5 b=4x5", {"equation": "ij,ij->ij"}, ""),
    ("Einsum", "a=4x5 b=4", {"equation": "ij,i->ij"}, ""),
    ("Einsum", "a=4x1 b=4", {"equation": "ij,i->ij"}, ""),
    ("Einsum", "a=4x5", {"equation": "ij->ji"}, ""),
]


@pytest.mark.parametrize("case", BESIDE, ids=lambda case: " ".join(case[:2]))
def test_operators_that_are_left_out_or_have_no_macs(tmp_path: Path, case: Case) -> None:
    network = read(tmp_path, case, node("MatMul", "c d", "z"), c=[4, 5], d=[5, 6])
    assert network.macs == 120
    assert [case[3] in each.reason for each in network.left_out] == [True] * bool(case[3])


# With these, inference of ONNX does not end, takes all memory or crashes.
NOT_BORNE = [
    *(("Einsum", "a b", {"equation": each}) for each in ("i]j,jk", "i.j,jk", "......i,ij->j")),
    ("Split", "a", {"num_outputs": 2**62}),
    ("Split", "a", {"num_outputs": 1, "outputs": "y m n"}),
    ("RegexFullMatch", "_", {}),
    ("LayerNormalization", "a b", {"axis": -9, "outputs": "y m"}),
]


@pytest.mark.parametrize("case", NOT_BORNE, ids=str)
def test_inference_that_does_not_end_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: Any
) -> None:
    infer = shape_inference.infer_shapes

    def guarded(content: bytes, **more: Any) -> Any:
        assert case[0].encode() not in content
        return infer(content, **more)

    monkeypatch.setattr(shape_inference, "infer_shapes", guarded)
    after = node("MatMul", "c d", "z")
    network = read(tmp_path, (*case, ""), after, a=[4, 5], b=[5, 6], c=[4, 5], d=[5, 6])
    assert network.macs == 120
    assert len(network.left_out) == (case[0] == "Einsum")


def test_channels_may_come_last(tmp_path: Path) -> None:
    """8 x 8 in windows of 2 are 16 rows of four channels, with ten columns each: 640 MACs."""
    pool = {"kernel_shape": [2, 2], "strides": [2, 2], "channels_last": 1}
    nodes = [
        node("QLinearAveragePool", "x s z s z", "p", **pool, **OURS),
        node("MatMul", "p w", "y"),
    ]
    shapes = shapes_of("x=1x8x8x4 w=4x10 s= z=")
    found = find_network(save(tmp_path, model(nodes, shapes, domains=["com.microsoft"])))
    assert (found.macs, found.left_out) == (640, ())
