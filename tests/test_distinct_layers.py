"""Networks: equal layers are counted, and names are distinct."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from workload_helpers import conv, gemm

from maestro_env.base.errors import NetworkError
from maestro_env.workloads.finding import find_network, models
from maestro_env.workloads.layer import Layer
from maestro_env.workloads.network import LeftOut, Network, gather, shape_of

A, B = Layer("GEMM", {"M": 1, "N": 2, "K": 3}, name="a"), Layer("GEMM", {"M": 4, "N": 5, "K": 6})


@pytest.mark.parametrize("name", models())
def test_networks_of_the_zoo(name: str) -> None:
    network, layers = find_network(name), models()[name]
    assert network.macs == sum(layer.count * layer.macs for layer in layers)
    assert sum(layer.count for layer in network.layers) == sum(layer.count for layer in layers)
    assert len({shape_of(layer) for layer in layers}) == len(network.layers)
    assert network.layers[0].name == f"{name}_l0"
    assert find_network(network) is network


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 4), st.integers(1, 3))))
def test_nothing_is_lost_and_the_first_come_first(drawn: list[tuple[str, int, int]]) -> None:
    layers = [Layer("GEMM", {"M": m, "N": 1, "K": 1}, name=name, count=n) for name, m, n in drawn]
    if not layers:
        return
    network = gather("net", layers)
    assert network.macs == sum(layer.count * layer.macs for layer in layers)
    assert [x.extents["M"] for x in network.layers] == list(dict.fromkeys(m for _, m, _ in drawn))
    assert len({layer.name for layer in network.layers}) == len(network.layers)


def test_what_is_left_out_is_summed_as_far_as_it_is_known() -> None:
    left = (LeftOut("x", "Conv3d", 7, "why"), LeftOut("y", "Mix", None, "why"))
    network = Network("net", (A,), left, ("a note",))
    assert (network.macs, network.left_out_macs) == (6, 7)


REFUSED = {
    "nothing": ((), "network net: no layers; allowed: at least one"),
    "names": ((A, Layer("GEMM", {"M": 1, "N": 2, "K": 4}, name="a")), "two layers are called 'a'"),
    "shapes": (
        (A, gemm(1, 2, 3)),
        "'a' and '' compute the same; give one layer, with their number",
    ),
}


@pytest.mark.parametrize(("layers", "message"), REFUSED.values(), ids=REFUSED)
def test_impossible_networks_are_refused(layers: tuple[Layer, ...], message: str) -> None:
    with pytest.raises(NetworkError, match=message):
        Network("net", layers)


def test_an_unknown_network_is_told_from_the_known() -> None:
    with pytest.raises(NetworkError, match=r"did you mean resnet50 .*allowed: .*FILE\.onnx"):
        find_network("resnet51")


def test_counts_have_a_limit() -> None:
    many = [Layer("GEMM", {"M": 1, "N": 1, "K": 1}, count=2**31 - 1)] * 2
    with pytest.raises(NetworkError, match="a count is 4294967294; allowed: integers from 1 to"):
        gather("net", many)


def test_only_what_a_layer_computes_makes_it_equal() -> None:
    strided = conv(8, 8, 9, 3, stride=2)
    network = gather("net", [conv(8, 8, 9, 3), strided, conv(8, 8, 9, 3)])
    assert [layer.count for layer in network.layers] == [2, 1]
    assert [layer.name for layer in network.layers] == ["unnamed", "unnamed_2"]
