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


def transformer(width: int, hidden: int, tokens: int, seen: int) -> int:
    """MACs of a layer whose ``tokens`` attend to ``seen``."""
    return tokens * (4 * width**2 + 2 * width * hidden) + 2 * tokens * seen * width


LLAMA = 128 * (2 * 4096**2 + 2 * 4096 * 1024 + 3 * 4096 * 14336) + 2 * 128**2 * 4096
# How it is made, its inputs, its MACs: as published, or in closed form.
NETWORKS = {
    "resnet18": (lambda: known.resnet((2, 2, 2, 2), False), (image(224),), 1_814_073_344),
    "resnet50": (lambda: known.resnet((3, 4, 6, 3), True), (image(224),), 4_089_184_256),
    "mobilenetv2": (known.mobilenetv2, (image(224),), 300_774_272),
    "gpt2_step": (
        lambda: known.TransformerBlock(768, 12, 3072),
        (features(1, 768), torch.empty(1, 12, 127, 64)),
        transformer(768, 3072, 1, 128),
    ),
    "llama_layer": (lambda: known.LlamaLayer(4096, 32, 8, 14336), (features(128, 4096),), LLAMA),
}


class Patches(torch.nn.Module):  # type: ignore[misc, unused-ignore]
    """Pieces of an image, convolved, and a transformer's layer over them."""

    def __init__(self) -> None:
        super().__init__()
        self.cut = torch.nn.Conv2d(3, 16, 3, stride=2, padding=1)
        self.mix = torch.nn.Conv2d(16, 16, 3, groups=4)
        self.layer = known.LlamaLayer(16, 4, 2, 24)

    def forward(self, x: Any) -> Any:
        return self.layer(self.mix(self.cut(x)).flatten(2).transpose(1, 2))


@pytest.mark.slow
def test_a_small_network_both_ways(tmp_path: Path) -> None:
    layer = 4 * (2 * 16**2 + 2 * 16 * 8 + 3 * 16 * 24) + 2 * 16 * 16
    macs = 16 * 16 * 27 + 4 * 16 * 4 * 9 + layer
    found = both_ways(tmp_path, made(Patches), (image(8),), macs)
    assert {each.operator for each in found.layers} == {"CONV", "NGCONV", "GEMM"}


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_known_networks_both_ways(tmp_path: Path, name: str) -> None:
    make, inputs, macs = NETWORKS[name]
    found = both_ways(tmp_path, made(make), inputs, macs)
    if name in ("resnet18", "resnet50", "mobilenetv2"):
        assert counted(found) == counted(find_network(name))


def both_ways(folder: Path, module: Any, inputs: tuple[Any, ...], macs: int) -> Network:
    read, traced = through_onnx(folder, module, inputs), from_torch(module, inputs)
    assert counted(read) == counted(traced)
    assert read.macs == traced.macs == macs
    return traced


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
    module = made(lambda: known.TransformerBlock(64, 2, 256))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, (features(5, 64),), verbose=False).save(path, external_data=True)
    (tmp_path / "net.onnx.data").unlink()
    assert find_network(str(path)).macs == transformer(64, 256, 5, 5)


class SelfAttention(torch.nn.Module):  # type: ignore[misc, unused-ignore]
    """PyTorch's own attention, whose heads are shapes that a file computes."""

    def __init__(self) -> None:
        super().__init__()
        self.heads = torch.nn.MultiheadAttention(64, 4, batch_first=True)

    def forward(self, x: Any) -> Any:
        return self.heads(x, x, x)[0]


@pytest.mark.slow
@pytest.mark.parametrize("dynamo", [False, True])
def test_open_sizes_are_followed_through_attention(tmp_path: Path, dynamo: bool) -> None:
    path, module, x = (
        tmp_path / "net.onnx",
        SelfAttention().eval(),
        features(10, 64).repeat(2, 1, 1),
    )
    named = {0: "b", 1: "t"}
    sizes = {"dynamic_shapes": (named,)} if dynamo else {"dynamic_axes": {"x": named}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, (x,), path, input_names=["x"], dynamo=dynamo, **sizes)
    found = find_network(str(path), {"b": 2, "t": 10})
    # Projections in and out, and two products for each of 4 heads.
    assert found.macs == from_torch(module, x).macs == 20 * 64 * 256 + 2 * 8 * 10 * 10 * 16
    assert found.left_out == ()


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
    assert found.macs == 7 * from_torch(module, (image(32),)).macs
    assert found.left_out == ()
