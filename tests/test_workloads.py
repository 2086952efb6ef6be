"""The zoo against published figures."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import pytest
from workload_helpers import conv, depthwise, gemm, same

from maestro_env.base.errors import LayerError
from maestro_env.workloads.finding import all_layers, find_layer, find_network, models
from maestro_env.workloads.layer import Layer

CNNS = ("mobilenetv2", "resnet18", "resnet50", "vgg16", "alexnet")


def weights(layer: Layer) -> int:
    e = layer.extents
    if layer.operator == "GEMM":
        return e["N"] * e["K"]
    return e.get("K", 1) * e["C"] * e["R"] * e["S"]


def outputs(layer: Layer) -> int:
    """Output channels."""
    return layer.extents["C" if layer.operator == "DSCONV" else "K"]


def convolutions(model: str) -> list[Layer]:
    return [layer for layer in models()[model] if layer.is_convolution]


@pytest.mark.parametrize(
    ("model", "layers", "gmacs"),
    [
        ("mobilenetv2", 53, 0.30),
        ("resnet18", 21, 1.81),
        ("resnet50", 54, 4.09),
        ("vgg16", 16, 15.47),
        ("alexnet", 8, 0.71),
    ],
)
def test_macs_are_the_published_ones(model: str, layers: int, gmacs: float) -> None:
    assert len(models()[model]) == layers
    assert round(sum(layer.macs * layer.count for layer in models()[model]) / 1e9, 2) == gmacs


@pytest.mark.parametrize(
    ("model", "parameters"),
    [("mobilenetv2", 3_504_872), ("resnet18", 11_689_512), ("resnet50", 25_557_032)],
)
def test_parameters_are_those_torchvision_publishes_batch_norm(model: str, parameters: int) -> None:
    batch_norm = sum(2 * outputs(layer) for layer in convolutions(model))
    classifier_bias = 1000
    counted = sum(map(weights, models()[model])) + batch_norm + classifier_bias
    assert counted == parameters


@pytest.mark.parametrize(("model", "parameters"), [("vgg16", 138_357_544), ("alexnet", 61_100_840)])
def test_parameters_are_those_torchvision_publishes_bias(model: str, parameters: int) -> None:
    biases = [x.extents["K" if x.is_convolution else "N"] for x in models()[model]]
    assert sum(map(weights, models()[model])) + sum(biases) == parameters


def transformer_macs(tokens: int, blocks: int = 12, width: int = 768) -> int:
    """MACs of blocks: twelve width^2 of weights a token, and two products of attention."""
    return blocks * tokens * (12 * width**2 + 2 * tokens * width)


def test_the_formula_gives_the_macs_that_others_count() -> None:
    """GPT-2 with its head at 128 tokens, BERT at 384: counted by ONNX's and PyTorch's graphs."""
    assert round((transformer_macs(128) + 128 * 768 * 50257) / 1e9, 4) == 16.1141
    assert round(transformer_macs(384) / 1e9, 4) == 35.3328


@pytest.mark.parametrize(
    ("model", "tokens", "left_out"),
    [("gpt2", 1024, 1024 * 768 * 50257), ("bert_base", 384, 768 * 768)],
)
def test_transformers_have_all_their_blocks(model: str, tokens: int, left_out: int) -> None:
    network = find_network(model)
    assert (network.macs, network.left_out_macs) == (transformer_macs(tokens), left_out)
    biases, norms = 9 * 768, 4 * 768
    with_weights = [layer for layer in models()[model] if layer.extents["K"] % 768 == 0]
    counted = sum(layer.count * weights(layer) for layer in with_weights)
    assert counted + 12 * (biases + norms) == 85_054_464


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mobilenetv2_l0", conv(32, 3, 226, 3, stride=2)),
        ("mobilenetv2_l1", depthwise(32, 114)),
        ("mobilenetv2_l2", conv(16, 32, 112, 1)),
        ("mobilenetv2_l4", depthwise(96, 114, stride=2)),
        ("mobilenetv2_l52", gemm(1, 1000, 1280)),
        ("resnet18_l0", conv(64, 3, 230, 7, stride=2)),
        ("resnet18_l5", conv(128, 64, 58, 3, stride=2)),
        ("resnet18_l7", conv(128, 64, 56, 1, stride=2)),
        ("resnet18_l17", conv(512, 256, 14, 1, stride=2)),
        ("resnet18_l20", gemm(1, 1000, 512)),
        ("resnet50_l1", conv(64, 64, 56, 1)),
        ("resnet50_l4", conv(256, 64, 56, 1)),
        ("resnet50_l12", conv(128, 128, 58, 3, stride=2)),
        ("resnet50_l14", conv(512, 256, 56, 1, stride=2)),
        ("resnet50_l53", gemm(1, 1000, 2048)),
        ("vgg16_l0", conv(64, 3, 226, 3)),
        ("vgg16_l12", conv(512, 512, 16, 3)),
        ("vgg16_l13", gemm(1, 4096, 512 * 7 * 7)),
        ("alexnet_l0", conv(64, 3, 228, 11, stride=4)),
        ("alexnet_l1", conv(192, 64, 31, 5)),
        ("alexnet_l2", conv(384, 192, 15, 3)),
        ("alexnet_l5", gemm(1, 4096, 256 * 6 * 6)),
        ("gpt2_l0", gemm(1024, 2304, 768, count=12)),
        ("gpt2_l1", gemm(1024, 1024, 64, count=144)),
        ("gpt2_l2", gemm(1024, 64, 1024, count=144)),
        ("gpt2_l4", gemm(1024, 3072, 768, count=12)),
        ("bert_base_l1", gemm(384, 384, 64, count=144)),
        ("bert_base_l2", gemm(384, 64, 384, count=144)),
    ],
)
def test_known_layers(name: str, expected: Layer) -> None:
    assert same(find_layer(name), expected)


@pytest.mark.parametrize("model", ["mobilenetv2", "vgg16", "alexnet"])
def test_channels_chain(model: str) -> None:
    for before, after in pairwise(convolutions(model)):
        assert after.extents["C"] == outputs(before), after.name


@pytest.mark.parametrize("model", CNNS)
def test_the_last_convolution_sees_the_published_resolution(model: str) -> None:
    last = convolutions(model)[-1]
    rows = (last.extents["Y"] - last.extents["R"]) // last.stride[0] + 1
    assert rows == {"vgg16": 14, "alexnet": 13}.get(model, 7)


def test_names_count_from_zero_in_every_model() -> None:
    for model, layers in models().items():
        assert [layer.name for layer in layers] == [f"{model}_l{i}" for i in range(len(layers))]


def test_every_listed_layer_is_found_by_its_name() -> None:
    assert len(all_layers()) == 53 + 21 + 54 + 16 + 8 + 6 + 6
    assert all(find_layer(layer.name) is layer for layer in all_layers())


def test_unknown_name_suggests_near_ones_and_the_list() -> None:
    with pytest.raises(LayerError) as error:
        find_layer("MOBILNETV2_L2")
    assert "mobilenetv2_l2" in str(error.value)
    assert "maestro-env layers" in str(error.value)


def test_workloads_need_neither_numpy_nor_gymnasium() -> None:
    code = (
        "import sys, maestro_env.workloads.finding as w; w.all_layers(); "
        "sys.exit(str({'numpy', 'gymnasium', 'torch'} & sys.modules.keys() or ''))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stderr.strip() == ""
