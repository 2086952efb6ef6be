"""Every operator of ONNX that is mapped, against closed forms and against the shapes of PyTorch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from onnx_models import model, node, save

from maestro_env.workloads.finding import find_network
from maestro_env.workloads.network import Network

reference = pytest.importorskip("onnx.reference")

Facts = tuple[str, dict[str, int], tuple[int, int], int]


def read(folder: Path, nodes: Sequence[Any], inputs: Mapping[str, Any], **more: Any) -> Network:
    return find_network(save(folder, model(nodes, inputs, **more)))


def facts(network: Network) -> list[Facts]:
    assert network.left_out == ()
    return [(x.operator, dict(x.extents), x.stride, x.count) for x in network.layers]


def conv(stride: tuple[int, int] = (1, 1), count: int = 1, **extents: int) -> Facts:
    return "CONV", {key: extents[key] for key in "NKCYXRS" if key in extents}, stride, count


def gemm(m: int, n: int, k: int, count: int = 1) -> Facts:
    return "GEMM", {"M": m, "N": n, "K": k}, (1, 1), count


CONVOLUTIONS = {
    "plain": ({}, conv(K=6, C=4, Y=9, X=8, R=3, S=2)),
    "strides, height first": ({"strides": [2, 3]}, conv((2, 3), K=6, C=4, Y=9, X=8, R=3, S=2)),
    "begins, then ends": ({"pads": [1, 2, 3, 4]}, conv(K=6, C=4, Y=13, X=14, R=3, S=2)),
    "valid": ({"auto_pad": "VALID"}, conv(K=6, C=4, Y=9, X=8, R=3, S=2)),
    "same": ({"auto_pad": "SAME_UPPER"}, conv(K=6, C=4, Y=11, X=9, R=3, S=2)),
    "same, strided": (
        {"auto_pad": "SAME_LOWER", "strides": [2, 3]},
        conv((2, 3), K=6, C=4, Y=11, X=8, R=3, S=2),
    ),
    "dilated": ({"dilations": [3, 1]}, conv(K=6, C=4, Y=3, X=8, R=3, S=2, N=3)),
    "dilated by the stride": (
        {"dilations": [2, 1], "strides": [2, 1]},
        conv(K=6, C=4, Y=5, X=8, R=3, S=2),
    ),
}


@pytest.mark.parametrize(("attributes", "expected"), CONVOLUTIONS.values(), ids=CONVOLUTIONS)
def test_convolutions(tmp_path: Path, attributes: dict[str, Any], expected: Facts) -> None:
    nodes = [node("Conv", "x w b", **attributes)]
    network = read(tmp_path, nodes, {"x": [1, 4, 9, 8], "w": [6, 4, 3, 2], "b": [6]})
    assert facts(network) == [expected]


GROUPS = {
    "depthwise": (6, [6, 1, 3, 3], ("DSCONV", {"C": 6, "Y": 9, "X": 9, "R": 3, "S": 3})),
    "multiplied": (
        6,
        [18, 1, 3, 3],
        ("NGCONV", {"G": 6, "K": 3, "C": 1, "Y": 9, "X": 9, "R": 3, "S": 3}),
    ),
    "grouped": (
        2,
        [4, 3, 3, 3],
        ("NGCONV", {"G": 2, "K": 2, "C": 3, "Y": 9, "X": 9, "R": 3, "S": 3}),
    ),
    "in a batch": (
        3,
        [3, 2, 3, 3],
        ("NGCONV", {"G": 3, "K": 1, "C": 2, "Y": 9, "X": 9, "R": 3, "S": 3}),
    ),
}


@pytest.mark.parametrize(("groups", "weights", "expected"), GROUPS.values(), ids=GROUPS)
def test_groups(tmp_path: Path, groups: int, weights: list[int], expected: Any) -> None:
    batch = 5 if groups == 3 else 1
    nodes = [node("Conv", "x w", group=groups)]
    ((operator, extents, _, _),) = facts(
        read(tmp_path, nodes, {"x": [batch, 6, 9, 9], "w": weights})
    )
    assert extents.pop("N", 1) == batch
    assert (operator, extents) == expected


def test_a_convolution_over_one_axis_has_one_column(tmp_path: Path) -> None:
    nodes = [node("Conv", "x w", strides=[2], pads=[1, 0])]
    network = read(tmp_path, nodes, {"x": [1, 4, 9], "w": [6, 4, 3]})
    assert facts(network) == [conv((2, 1), K=6, C=4, Y=10, X=1, R=3, S=1)]


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
    nodes = [node("ConvTranspose", "x w", **attributes)]
    shapes = {"x": [1, 4, 8, 8], "w": [4, 6, window, window]}
    network = read(tmp_path, nodes, shapes)
    found = [(x.extents["R"], x.extents["S"], x.count) for x in network.layers]
    assert sorted(found) == expected
    assert all((x.extents["K"], x.extents["C"]) == (6, 4) for x in network.layers)
    macs = 4 * 8 * 8 * 6 * window * window
    assert ratio is None or network.macs == ratio * macs
    (note,) = network.notes
    assert "transposed convolution" in note
    assert note.endswith(f"; {network.macs / macs:.3g} times the MACs")


PRODUCTS = {
    "matrices": ([4, 5], [5, 6], [gemm(4, 6, 5)]),
    "a batch that shares its weights": ([2, 3, 4, 5], [5, 6], [gemm(24, 6, 5)]),
    "a batch of both": ([2, 3, 4, 5], [2, 3, 5, 6], [gemm(4, 6, 5, 6)]),
    "a batch that shares its left side": ([4, 5], [3, 5, 6], [gemm(4, 18, 5)]),
    "broadcast": ([2, 1, 4, 5], [3, 5, 6], [gemm(8, 18, 5)]),
    "broadcast heads": ([2, 3, 4, 5], [2, 1, 5, 6], [gemm(12, 6, 5, 2)]),
    "vectors": ([5], [5], [gemm(1, 1, 5)]),
    "a vector and a matrix": ([5], [5, 6], [gemm(1, 6, 5)]),
    "a batch and a vector": ([3, 4, 5], [5], [gemm(12, 1, 5)]),
}


@pytest.mark.parametrize(("left", "right", "expected"), PRODUCTS.values(), ids=PRODUCTS)
def test_products(tmp_path: Path, left: list[int], right: list[int], expected: list[Facts]) -> None:
    network = read(tmp_path, [node("MatMul", "a b")], {"a": left, "b": right})
    assert facts(network) == expected
    outputs = np.matmul(np.ones(left), np.ones(right))
    assert network.macs == outputs.size * left[-1]


@pytest.mark.parametrize(("a", "b", "flags"), [("mk", "kn", (0, 0)), ("km", "nk", (1, 1))])
def test_gemm_transposes(tmp_path: Path, a: str, b: str, flags: tuple[int, int]) -> None:
    size = {"m": 4, "k": 5, "n": 6}
    shapes = {"a": [size[x] for x in a], "b": [size[x] for x in b]}
    nodes = [node("Gemm", "a b", transA=flags[0], transB=flags[1])]
    assert facts(read(tmp_path, nodes, shapes)) == [gemm(4, 6, 5)]


QUANTISED = {
    "QLinearConv": ("x s z w s z s z", [conv(K=6, C=4, Y=9, X=9, R=3, S=3)]),
    "ConvInteger": ("x w z z", [conv(K=6, C=4, Y=9, X=9, R=3, S=3)]),
    "QLinearMatMul": ("a s z b s z s z", [gemm(4, 6, 5)]),
    "MatMulInteger": ("a b z z", [gemm(4, 6, 5)]),
}
SHAPES = {"x": [1, 4, 9, 9], "w": [6, 4, 3, 3], "a": [4, 5], "b": [5, 6], "s": [], "z": []}


@pytest.mark.parametrize("operator", QUANTISED)
def test_quantised_operators(tmp_path: Path, operator: str) -> None:
    inputs, expected = QUANTISED[operator]
    shapes = {name: SHAPES[name] for name in dict.fromkeys(inputs.split())}
    assert facts(read(tmp_path, [node(operator, inputs)], shapes)) == expected


def test_quantised_weights_are_weights(tmp_path: Path) -> None:
    nodes = [
        node("QuantizeLinear", "x s z", "q"),
        node("DequantizeLinear", "q s z", "d"),
        node("DequantizeLinear", "w s z", "f"),
        node("Conv", "d f", "y"),
    ]
    shapes = {name: SHAPES[name] for name in "xwsz"}
    assert facts(read(tmp_path, nodes, shapes)) == [conv(K=6, C=4, Y=9, X=9, R=3, S=3)]


MICROSOFT = {
    "QGemm": ("a s z b s z", [gemm(4, 6, 5)], {}),
    "FusedGemm": ("a b", [gemm(4, 6, 5)], {"activation": "Relu"}),
    "FusedConv": ("x w", [conv(K=6, C=4, Y=9, X=9, R=3, S=3)], {"activation": "Relu"}),
    "FusedMatMul": ("a b", [gemm(5, 6, 4)], {"transA": 1}),
    "MatMulNBits": ("a b", [gemm(4, 32, 5)], {"K": 5, "N": 32}),
    "DynamicQuantizeMatMul": ("a b s", [gemm(4, 6, 5)], {}),
}


@pytest.mark.parametrize("operator", MICROSOFT)
def test_operators_of_onnxruntime(tmp_path: Path, operator: str) -> None:
    inputs, expected, attributes = MICROSOFT[operator]
    shapes = {name: SHAPES[name] for name in dict.fromkeys(inputs.split())}
    if operator == "FusedMatMul":
        shapes["b"] = [4, 6]
    made = node(operator, inputs, domain="com.microsoft", **attributes)
    assert facts(read(tmp_path, [made], shapes, domains=["com.microsoft"])) == expected


def test_shapes_survive_operators_of_onnxruntime(tmp_path: Path) -> None:
    ours = {"domain": "com.microsoft"}
    nodes = [
        node("QLinearConv", "x s z w s z s z", "a"),
        node("QLinearAdd", "a s z a s z s z", "b", **ours),
        node("QLinearSigmoid", "b s z s z", "c", **ours),
        node("QLinearConcat", "s z b s z c s z", "d", axis=1, **ours),
        node("QLinearGlobalAveragePool", "d s z s z", "e", channels_last=0, **ours),
        node("SkipLayerNormalization", "e e s", "f", **ours),
        node("Conv", "f v", "y"),
    ]
    shapes = {name: SHAPES[name] for name in "xwsz"} | {"v": [3, 12, 1, 1]}
    found = facts(read(tmp_path, nodes, shapes, domains=["com.microsoft"]))
    assert found == [conv(K=6, C=4, Y=9, X=9, R=3, S=3), conv(K=3, C=12, Y=1, X=1, R=1, S=1)]


ATTENTION = {
    "heads apart": ("q k v", {}, [gemm(7, 9, 4, 6), gemm(7, 5, 9, 6)]),
    "heads together": (
        "Q K V",
        {"q_num_heads": 3, "kv_num_heads": 3},
        [gemm(7, 9, 4, 6), gemm(7, 5, 9, 6)],
    ),
    "a past": ("q k v _ p p", {}, [gemm(7, 20, 4, 6), gemm(7, 5, 20, 6)]),
}
QKV = {
    "q": [2, 3, 7, 4],
    "k": [2, 3, 9, 4],
    "v": [2, 3, 9, 5],
    "p": [2, 3, 11, 4],
    "Q": [2, 7, 12],
    "K": [2, 9, 12],
    "V": [2, 9, 15],
}


@pytest.mark.parametrize(("inputs", "attributes", "expected"), ATTENTION.values(), ids=ATTENTION)
def test_attention_is_two_products_a_head(
    tmp_path: Path, inputs: str, attributes: Any, expected: list[Facts]
) -> None:
    shapes = {name: QKV[name] for name in dict.fromkeys(inputs.split()) if name != "_"}
    network = read(tmp_path, [node("Attention", inputs, **attributes)], shapes)
    assert facts(network) == expected
    assert [layer.name.rpartition(".")[2] for layer in network.layers] == ["scores", "context"]


LANGUAGE_MODELS = {
    "GroupQueryAttention": ("Q g h p p s s", 1, {"kv_num_heads": 1}),
    "MultiHeadAttention": ("Q K V _ _ _ p p", 3, {}),
}


@pytest.mark.parametrize("operator", LANGUAGE_MODELS)
def test_attention_of_onnxruntime(tmp_path: Path, operator: str) -> None:
    inputs, kv_heads, attributes = LANGUAGE_MODELS[operator]
    ours = {"domain": "com.microsoft", "num_heads": 3, **attributes}
    shapes = QKV | {"g": [2, 9, 4], "h": [2, 9, 5], "s": [], "p": [2, kv_heads, 11, 4]}
    nodes = [node(operator, inputs, "m a b", **ours), node("MatMul", "m w")]
    given = {name: shapes[name] for name in dict.fromkeys(inputs.split()) if name != "_"}
    # The opset is older than attention as an operator of its own.
    network = read(tmp_path, nodes, given | {"w": [12, 8]}, opset=17)
    assert facts(network) == [gemm(7, 20, 4, 6), gemm(7, 5, 20, 6), gemm(14, 8, 12)]


def test_grouped_queries_are_said(tmp_path: Path) -> None:
    shapes = {"q": [2, 6, 7, 4], "k": [2, 3, 9, 4], "v": [2, 3, 9, 5]}
    network = read(tmp_path, [node("Attention", "q k v")], shapes)
    assert facts(network) == [gemm(7, 9, 4, 12), gemm(7, 5, 9, 12)]
    assert "grouped queries" in network.notes[0]


EINSUMS = {
    "bhld,bhsd->bhls": ([[2, 3, 4, 5], [2, 3, 7, 5]], [gemm(4, 7, 5, 6)]),
    "...ij,...jk": ([[2, 4, 5], [2, 5, 6]], [gemm(4, 6, 5, 2)]),
    "ij,jk": ([[4, 5], [5, 6]], [gemm(4, 6, 5)]),
    "bij,jk->bik": ([[3, 4, 5], [5, 6]], [gemm(12, 6, 5)]),
    "bchw,kc->bkhw": ([[2, 3, 4, 5], [7, 3]], [gemm(40, 7, 3)]),
    "ij,ij->i": ([[4, 5], [4, 5]], [gemm(1, 1, 5, 4)]),
    "i,j->ij": ([[4], [5]], [gemm(4, 5, 1)]),
    "ij,jk,kl->il": ([[2, 3], [3, 4], [4, 5]], [gemm(2, 4, 3), gemm(2, 5, 4)]),
    "ii,ij->j": ([[4, 4], [4, 5]], [gemm(1, 5, 4)]),
    "bi,bj->j": ([[3, 1], [3, 5]], [gemm(1, 5, 3)]),
}


@pytest.mark.parametrize("equation", EINSUMS)
def test_einsums_are_their_products(tmp_path: Path, equation: str) -> None:
    shapes, expected = EINSUMS[equation]
    names = "abc"[: len(shapes)]
    nodes = [node("Einsum", " ".join(names), equation=equation)]
    network = read(tmp_path, nodes, dict(zip(names, shapes, strict=True)))
    assert facts(network) == expected
    # NumPy's own count: each product and its sum are two operations.
    if len(shapes) == 2 and equation != "i,j->ij" and "ii" not in equation:
        text = np.einsum_path(equation, *map(np.ones, shapes), optimize=False)[1]
        (count,) = (line for line in text.splitlines() if "Naive FLOP" in line)
        assert network.macs == pytest.approx(float(count.split(":")[1]) / 2, rel=0.01)


@pytest.mark.parametrize("equation", ["ij,jk->iz", "ij,jk->ii", "ij,jk->i...i"])
def test_an_einsum_of_no_result_is_left_out(tmp_path: Path, equation: str) -> None:
    shapes = {"a": [4, 5], "b": [5, 6], "c": [5, 6]}
    nodes = [node("Einsum", "a b", equation=equation), node("MatMul", "a c", "z")]
    network = read(tmp_path, nodes, shapes)
    assert network.macs == 120
    (left,) = network.left_out
    assert "an einsum whose result is" in left.reason


@pytest.mark.parametrize("operator", ["Conv", "ConvTranspose"])
def test_a_window_that_is_not_the_filters_is_left_out(tmp_path: Path, operator: str) -> None:
    nodes = [node(operator, "x w", kernel_shape=[5, 5]), node("MatMul", "a b", "z")]
    shapes = {"x": [1, 8, 9, 9], "w": [8, 8, 3, 3], "a": [4, 5], "b": [5, 6]}
    network = read(tmp_path, nodes, shapes)
    assert network.macs == 120
    (left,) = network.left_out
    assert "kernel_shape is [5, 5]" in left.reason


@pytest.mark.parametrize("equation", ["ij,ij->ij", "ij,i->ij", "ij->ji"])
def test_an_einsum_that_scales_has_no_macs(tmp_path: Path, equation: str) -> None:
    shapes = {"a": [4, 5], "b": [4, 5] if "ij,ij" in equation else [4], "c": [5, 6]}
    inputs = "a b" if "," in equation else "a"
    nodes = [node("Einsum", inputs, equation=equation), node("MatMul", "a c", "z")]
    assert facts(read(tmp_path, nodes, shapes)) == [gemm(4, 6, 5)]


@pytest.mark.parametrize(("operator", "gates"), [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
@pytest.mark.parametrize("directions", [1, 2])
def test_recurrent_layers(tmp_path: Path, operator: str, gates: int, directions: int) -> None:
    direction = "bidirectional" if directions == 2 else "forward"
    shapes = {
        "x": [7, 2, 5],
        "w": [directions, gates * 6, 5],
        "r": [directions, gates * 6, 6],
    }
    nodes = [node(operator, "x w r", hidden_size=6, direction=direction)]
    assert facts(read(tmp_path, nodes, shapes)) == [
        gemm(14, 6 * gates, 5, directions),
        gemm(2, 6 * gates, 6, 7 * directions),
    ]


def test_a_causal_convolution_is_depthwise(tmp_path: Path) -> None:
    nodes = [node("CausalConvWithState", "x w", "y state")]
    network = read(tmp_path, nodes, {"x": [1, 4, 9], "w": [4, 1, 3]}, opset=27)
    assert facts(network) == [("DSCONV", {"C": 4, "Y": 11, "X": 1, "R": 3, "S": 1}, (1, 1), 1)]
