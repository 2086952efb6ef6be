"""Known networks from PyTorch and from the ONNX files it writes: the same, and as published."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
pytest.importorskip("onnxscript", reason="PyTorch needs onnxscript to write ONNX files")

import networks_in_torch as known  # noqa: E402 - it needs PyTorch

from maestro_env.workloads.files.torch_module import from_torch  # noqa: E402
from maestro_env.workloads.finding import find_network  # noqa: E402
from maestro_env.workloads.network import Network, shape_of  # noqa: E402


def made(make: Callable[[], Any]) -> Any:
    """Return a module whose weights were never written."""
    with torch.device("meta"):
        module = make()
    return module.to_empty(device="cpu").eval()


def through_onnx(folder: Path, module: Any, inputs: tuple[Any, ...], **more: Any) -> Network:
    """Export a module to ONNX, without its weights, and read the file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(module, inputs, verbose=False, **more)
    path = folder / "net.onnx"
    program.save(path, include_initializers=False, keep_initializers_as_inputs=True)
    return find_network(str(path))


def counted(network: Network) -> list[Any]:
    assert network.left_out == ()
    return [(*shape_of(layer), layer.count) for layer in network.layers]


def image(size: int) -> Any:
    return torch.empty(1, 3, size, size)


def features(tokens: int, width: int) -> Any:
    return torch.empty(1, tokens, width)


def words(tokens: int) -> Any:
    return torch.zeros(1, tokens, dtype=torch.long)


def transformer(layers: int, width: int, hidden: int, tokens: int, seen: int) -> int:
    """MACs of layers whose ``tokens`` attend to ``seen``."""
    weights = 4 * width**2 + 2 * width * hidden
    return layers * (tokens * weights + 2 * tokens * seen * width)


LLAMA = 128 * (2 * 4096**2 + 2 * 4096 * 1024 + 3 * 4096 * 14336) + 2 * 128**2 * 4096
# How it is made, its inputs, its MACs: as published, or in closed form.
NETWORKS = {
    "resnet18": (lambda: known.resnet((2, 2, 2, 2), False), (image(224),), 1_814_073_344),
    "resnet50": (lambda: known.resnet((3, 4, 6, 3), True), (image(224),), 4_089_184_256),
    "mobilenetv2": (known.mobilenetv2, (image(224),), 300_774_272),
    "vgg16": (known.vgg16, (image(224),), 15_470_264_320),
    "bert": (
        lambda: known.Encoder(12, 768, 12),
        (features(384, 768),),
        transformer(12, 768, 3072, 384, 384),
    ),
    "gpt2": (
        lambda: known.Decoder(12, 768, 12, 50257),
        (words(128),),
        transformer(12, 768, 3072, 128, 128) + 128 * 768 * 50257,
    ),
    "gpt2_step": (
        lambda: known.Decoder(12, 768, 12, 50257),
        (words(1), torch.empty(1, 12, 127, 64)),
        transformer(12, 768, 3072, 1, 128) + 768 * 50257,
    ),
    "llama_layer": (
        lambda: known.LlamaLayer(4096, 32, 8, 14336),
        (features(128, 4096),),
        LLAMA,
    ),
}
SMALL = {
    "resnet": (
        lambda: known.resnet((1, 1), True, width=4, classes=10),
        (image(32),),
        3 * 4 * 49 * 256
        + 64 * (4 * 4 + 4 * 4 * 9 + 4 * 16 + 4 * 16)
        # The second stage halves the map behind its first convolution.
        + 64 * 16 * 8
        + 16 * (8 * 8 * 9 + 8 * 32 + 16 * 32)
        + 320,
    ),
    "llama_layer": (
        lambda: known.LlamaLayer(16, 4, 2, 24),
        (features(5, 16),),
        5 * (2 * 16**2 + 2 * 16 * 8 + 3 * 16 * 24) + 2 * 25 * 16,
    ),
}


@pytest.mark.parametrize("name", SMALL)
def test_small_networks_both_ways(tmp_path: Path, name: str) -> None:
    make, inputs, macs = SMALL[name]
    both_ways(tmp_path, made(make), inputs, macs)


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_known_networks_both_ways(tmp_path: Path, name: str) -> None:
    make, inputs, macs = NETWORKS[name]
    found = both_ways(tmp_path, made(make), inputs, macs)
    if name in ("resnet18", "resnet50", "mobilenetv2", "vgg16"):
        assert counted(found) == counted(find_network(name))


def both_ways(folder: Path, module: Any, inputs: tuple[Any, ...], macs: int) -> Network:
    read, traced = through_onnx(folder, module, inputs), from_torch(module, inputs)
    assert counted(read) == counted(traced)
    assert read.macs == traced.macs == macs
    return traced


def test_the_published_figures_are_met() -> None:
    """In 10^9 MACs: torchvision's for the CNNs, counted by hand for the others."""
    gmacs = {name: round(macs / 1e9, 4) for name, (_, _, macs) in NETWORKS.items()}
    assert (gmacs["resnet18"], gmacs["resnet50"]) == (1.8141, 4.0892)
    assert (gmacs["mobilenetv2"], gmacs["vgg16"]) == (0.3008, 15.4703)
    assert (gmacs["bert"], gmacs["gpt2"]) == (35.3328, 16.1141)


@pytest.mark.slow
def test_dilated_transposed_and_grouped_convolutions_both_ways(tmp_path: Path) -> None:
    module = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=2, dilation=2),
        torch.nn.ConvTranspose2d(8, 4, 4, stride=2, padding=1),
        torch.nn.Conv2d(4, 8, 3, groups=4),
        torch.nn.Conv2d(8, 4, (4, 3), padding="same"),
    )
    macs = 81 * 8 * 3 * 9 + 81 * 8 * 4 * 16 + 256 * 8 * 9 + 256 * 4 * 8 * 12
    found = both_ways(tmp_path, module, (image(9),), macs)
    assert {layer.operator for layer in found.layers} == {"CONV", "NGCONV"}
    assert [note.partition(":")[2].split()[0] for note in found.notes] == [
        "dilation:",
        "transposed",
    ]


@pytest.mark.slow
def test_one_attention_operator_is_the_same_products(tmp_path: Path) -> None:
    module = made(lambda: known.LlamaLayer(64, 8, 2, 128))
    older = through_onnx(tmp_path, module, (features(9, 64),), opset_version=20)
    newer = through_onnx(tmp_path, module, (features(9, 64),), opset_version=23)
    assert counted(older) == counted(newer)


@pytest.mark.slow
def test_weights_beside_the_file_are_not_needed(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    module = made(lambda: known.Encoder(1, 64, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, (features(5, 64),), verbose=False).save(path, external_data=True)
    (tmp_path / "net.onnx.data").unlink()
    assert find_network(str(path)).macs == transformer(1, 64, 256, 5, 5)


@pytest.mark.slow
def test_an_open_batch_is_given_a_number(tmp_path: Path) -> None:
    module = made(lambda: known.resnet((1, 1), True, width=4, classes=10))
    path = tmp_path / "net.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shapes = ({0: torch.export.Dim("batch")},)
        inputs = (torch.empty(2, 3, 32, 32),)
        program = torch.onnx.export(module, inputs, verbose=False, dynamic_shapes=shapes)
        program.save(path)
    found = find_network(str(path), {"batch": 7})
    assert found.macs == 7 * SMALL["resnet"][2]
    assert found.left_out == ()
