"""Layers written as text, well and badly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from workload_helpers import LONG, gemm, same

from maestro_env.base.errors import LayerError
from maestro_env.workloads.finding import find_layer, parse_layer
from maestro_env.workloads.layer import Layer


@st.composite
def convolution_layers(draw: st.DrawFn) -> Layer:
    operator = draw(st.sampled_from(["CONV", "TRCONV", "DSCONV", "NGCONV"]))
    size = st.integers(1, 64)
    window = {"R": draw(size), "S": draw(size)}
    image = {"Y": window["R"] + draw(size), "X": window["S"] + draw(size)}
    names = {"DSCONV": ["C"], "NGCONV": ["G", "K", "C"]}.get(operator, ["K", "C"])
    names += draw(st.sampled_from([[], ["N"]]))
    extents = {name: draw(size) for name in names} | image | window
    return Layer(operator, extents, (draw(size), draw(size)))


@given(layer=convolution_layers(), data=st.data())
def test_convolution_text_round_trips(layer: Layer, data: st.DataObject) -> None:
    pieces = [f"{name}={extent}" for name, extent in layer.extents.items()]
    pieces.append("stride={}x{}".format(*layer.stride))
    operator = data.draw(st.sampled_from([layer.operator, layer.operator.lower()]))
    text = f"{operator}:{','.join(data.draw(st.permutations(pieces)))}"
    assert same(find_layer(text), layer)
    assert find_layer(text).name == text


@given(st.integers(1, 4096), st.integers(1, 4096), st.integers(1, 4096))
def test_gemm_text_round_trips(m: int, n: int, k: int) -> None:
    assert same(parse_layer(f"gemm:M={m},N={n},K={k}"), gemm(m, n, k))


@pytest.mark.parametrize(
    ("text", "stride"), [("", (1, 1)), (",stride=2", (2, 2)), (",stride=2x1", (2, 1))]
)
def test_stride_is_of_y_then_of_x(text: str, stride: tuple[int, int]) -> None:
    layer = parse_layer("conv:K=64,C=3,Y=58,X=59,R=3,S=5" + text)
    assert layer.stride == stride
    assert layer.extents == {"K": 64, "C": 3, "Y": 58, "X": 59, "R": 3, "S": 5}


def test_blanks_in_a_text_do_not_matter() -> None:
    assert parse_layer(" gemm: M=1, N=2,\tK=3\n") == parse_layer("gemm:M=1,N=2,K=3")


@pytest.mark.parametrize(
    ("text", "fault", "allowed"),
    [
        ("pool:K=1", "'pool'", "conv, trconv, dsconv, ngconv, gemm"),
        (":M=1,N=1,K=1", "''", "conv, trconv, dsconv, ngconv, gemm"),
        ("gemm:", "key ''", "M, N, K, count"),
        ("gemm:M=1,N=2,K", "K is ''", "integers"),
        ("gemm:M=1,N=2,K=3,K=4", "K is given twice", "conv:"),
        ("gemm:M=1,N=2,K=3.5", "'3.5'", "integer"),
        ("gemm:M=1,N=2,K=0", "K is 0", "1 to"),
        ("gemm:M=1,N=2,K=" + "9" * 5000, "'999", "integer"),
        ("gemm:M=1,N=2,K=٣", "'٣'", "digits 0 to 9"),
        ("gemm:M=1,N=2,K=1 0", "'gemm:M=1,N=2,K=1 0'", "a blank inside a number"),
        ("gemm:M=1,N=2", "lacks K", "M, N, K"),
        ("gemm:M=1,N=2,K=3,C=4", "'C'", "M, N, K"),
        ("gemm:M=1,N=2,K=3,stride=1", "'stride'", "M, N, K, count"),
        ("dsconv:K=1,C=8,Y=8,X=8,R=3,S=3", "'K'", "C, Y, X, R, S"),
        ("conv:K=1,C=8,Y=8,X=8,R=9,S=3", "R = 9", "Y = 8"),
        ("conv:K=1,C=8,Y=8,X=8,R=3,S=3,stride=2x", "'2x'", "stride=2x1"),
        ("conv:K=1,C=8,Y=8,X=8,R=3,S=3,stride=0", "stride of Y is 0", "1 to"),
    ],
)
def test_malformed_text_names_fault_allowed_and_example(
    text: str, fault: str, allowed: str
) -> None:
    with pytest.raises(LayerError) as error:
        find_layer(text)
    message = str(error.value)
    assert fault in message
    assert allowed in message
    assert "conv:K=64,C=64,Y=58,X=58,R=3,S=3,stride=1" in message
    assert len(message.splitlines()) == 1


PIECES = [
    *["conv:", "gemm:", "M=1", "N=2,", "K=3,", "K", "stride=", "=", ",", "x", "3", "-", "é"],
    "\n",
]


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
def test_any_text_is_a_layer_or_one_line_of_error(text: str) -> None:
    try:
        message = str(parse_layer(text))
    except LayerError as error:
        message = str(error)
    assert len(message.splitlines()) == 1


@pytest.mark.parametrize(
    "text", [f"gemm:M={LONG}", f"gemm:{LONG}", f"{LONG}:M=1", f"conv:stride={LONG}", LONG]
)
def test_long_texts_are_cut_in_messages(text: str) -> None:
    with pytest.raises(LayerError) as error:
        find_layer(text)
    assert "999..." in str(error.value)
    assert len(str(error.value)) < 350
