"""Networks read from PyTorch modules, against PyTorch's own counter of operations."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import Tensor, nn  # noqa: E402 - after the check that it is there
from torch.nn import functional as F  # noqa: E402, N812 - its usual name
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402
from workload_helpers import facts  # noqa: E402

from maestro_env.base.errors import ArgumentTypeError, NetworkError  # noqa: E402
from maestro_env.workloads.files.torch_module import from_torch  # noqa: E402

IMAGE = torch.empty(2, 6, 9, 8)
TOKENS = torch.empty(2, 5, 16)


class Does(nn.Module):
    """A module that does what a function does."""

    def __init__(self, function: Callable[..., Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Tensor, **named: Tensor) -> Tensor:
        return self.function(*inputs, **named)


class Each(nn.Module):
    """A module that does what several do, each with inputs of its own."""

    def __init__(self, modules: Iterable[nn.Module]) -> None:
        super().__init__()
        self.each = nn.ModuleList(modules)

    def forward(self, *inputs: tuple[Tensor, ...]) -> list[Any]:
        return [module(*given) for module, given in zip(self.each, inputs, strict=True)]


COUNTED = [
    (nn.Conv2d(6, 4, 3, stride=(2, 1), padding=(1, 2), groups=2), (IMAGE,)),
    (nn.Conv2d(6, 6, 3, groups=6), (IMAGE,)),
    (nn.Conv2d(6, 4, 3, padding=2, dilation=2), (IMAGE,)),
    (nn.Conv2d(6, 4, 3, dilation=(3, 2), stride=(1, 3), padding=3), (IMAGE,)),
    (nn.Conv2d(6, 4, (4, 3), padding="same"), (IMAGE,)),
    (nn.Conv1d(5, 7, 3), (TOKENS,)),
    (nn.Linear(16, 3), (TOKENS,)),
    (nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), (TOKENS,)),
    (Does(lambda a, b: torch.bmm(a, b.mT)), (TOKENS, TOKENS)),
    (Does(lambda a, b: torch.baddbmm(a[:, :, :5], a, b.mT)), (TOKENS, TOKENS)),
    (Does(lambda a: a[:, None] @ a[None].mT), (TOKENS,)),
    (Does(lambda a: torch.addmm(a[0], a[0] @ a[0].T, a[0])), (TOKENS,)),
    (Does(lambda a: torch.einsum("bij,bkj->bik", a, a)), (TOKENS,)),
    (Does(lambda a: torch.tensordot(a, a, dims=([2], [2]))), (TOKENS,)),
    (Does(lambda a: torch.linalg.multi_dot([a[0], a[0].T, a[0]])), (TOKENS,)),
]


def test_macs_are_half_the_operations_that_pytorch_counts() -> None:
    """Those of every operator, as distinct layers are counted with their names."""
    modules, inputs = zip(*COUNTED, strict=True)
    network = from_torch(Each(modules).eval(), inputs)
    assert network.left_out == ()
    total = 0
    for module, given in COUNTED:
        # Kernels that are fused are not counted.
        kernel = nn.attention.sdpa_kernel(nn.attention.SDPBackend.MATH)
        with FlopCounterMode(display=False) as counter, kernel:
            module.eval()(*given)
        assert counter.get_total_flops()
        total += counter.get_total_flops() // 2
    assert network.macs == total


def without_gradients(a: Tensor) -> Tensor:
    with torch.no_grad():
        b = a[0, :3] @ a[0, :3].T
    return b @ a[0, :3]


# Modules for tokens, and the layers that PyTorch does not count.
LAYERS = [
    (Does(lambda a: a[0] @ a[0, 0]), "1 GEMM M5 N1 K16"),
    (Does(lambda a: a[0, 0] @ a[0, 1]), "1 GEMM M1 N1 K16"),
    (Does(lambda a: torch.einsum("ij,jk->ik", a[0, :, :1], a[1, :1, :1])), "1 GEMM M5 N1 K1"),
    (Does(without_gradients), "1 GEMM M3 N3 K16, 1 GEMM M3 N16 K3"),
    (Does(lambda a: torch.addbmm(a[0, :, :5], a, a.mT)), "1 GEMM M5 N5 K32"),
    (
        Does(lambda a: F.bilinear(a, a, torch.ones(3, 16, 16))),
        "1 GEMM M10 N48 K16, 10 GEMM M3 N1 K16",
    ),
    (
        nn.LSTM(16, 8, num_layers=2, bidirectional=True, batch_first=True),
        "4 GEMM M10 N32 K16, 20 GEMM M2 N32 K8",
    ),
    (nn.LSTM(16, 7, proj_size=3), "1 GEMM M10 N28 K16, 2 GEMM M5 N28 K3, 2 GEMM M5 N3 K7"),
    (nn.GRU(16, 8), "1 GEMM M10 N24 K16, 2 GEMM M5 N24 K8"),
    (nn.RNN(16, 8, nonlinearity="relu"), "1 GEMM M10 N8 K16, 2 GEMM M5 N8 K8"),
    (
        Does(
            lambda a: F.scaled_dot_product_attention(
                a.expand(6, 2, 5, 16).transpose(0, 1),
                a[:, None].expand(2, 3, 5, 16),
                a[:, None].expand(2, 3, 5, 16),
                enable_gqa=True,
            )
        ),
        "12 GEMM M5 N5 K16, 12 GEMM M5 N16 K5",
    ),
]


@pytest.mark.slow
def test_operators_that_pytorch_does_not_count() -> None:
    modules, expected = zip(*LAYERS, strict=True)
    network = from_torch(Each(modules), tuple((TOKENS,) for _ in modules))
    assert network.left_out == ()
    assert facts(network) == ", ".join(expected)


def test_transposed_convolutions() -> None:
    network = from_torch(nn.ConvTranspose2d(6, 4, 4, stride=2, padding=1), IMAGE)
    assert facts(network) == "4 CONV K4 C6 Y10 X9 R2 S2 N2"
    assert network.macs == 2 * 6 * 9 * 8 * 4 * 16
    assert network.notes[0].endswith("; 1 times the MACs")


def test_layers_are_called_as_their_modules() -> None:
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(16, 4), nn.Linear(16, 4)

        def forward(self, x: Tensor) -> Tensor:
            return self.first(x) @ self.second(x).mT

    network = from_torch(nn.Sequential(Block(), nn.Linear(5, 2)), TOKENS, name="two blocks")
    assert network.name == "two blocks"
    counts = {layer.name: layer.count for layer in network.layers}
    assert counts == {"0.first": 2, "0.matmul": 2, "1": 1}


def test_arguments_by_name() -> None:
    module = Does(lambda left, right: left @ right.mT)
    network = from_torch(module, {"left": TOKENS, "right": TOKENS})
    assert facts(network) == "2 GEMM M5 N5 K16"
    assert network.name == "Does"


def test_frozen_transformers_are_not_fused() -> None:
    module = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True).eval().requires_grad_(False)
    with torch.no_grad():
        network = from_torch(module, TOKENS)
    assert network.left_out == ()
    assert network.macs == 10 * (4 * 16**2 + 2 * 16 * 32) + 2 * 2 * 5 * 5 * 16
    assert torch.backends.mha.get_fastpath_enabled()


def test_what_no_layer_stands_for_is_left_out() -> None:
    def branch(a: Tensor) -> Tensor:
        square = lambda a: a @ a.transpose(1, 2)  # noqa: E731 - traced where it stands
        return torch.cond(a.sum() > 0, square, lambda a: square(a) + 1, (a,)) @ a

    modules = {
        nn.Conv3d(1, 2, 3): torch.empty(1, 1, 5, 6, 8),
        Does(lambda a: torch.cdist(a, a)): TOKENS,
        Does(lambda a: torch.ops.ours.twice(a)): TOKENS,
        Does(branch): TOKENS,
    }
    with torch.library._scoped_library("ours", "FRAGMENT") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x + x, "CompositeExplicitAutograd")
        torch.library.register_fake("ours::twice", torch.empty_like, lib=library)
        network = from_torch(Each(modules), tuple((given,) for given in modules.values()))
    inside = ("matmul", None, "in the body of cond; how often it is executed is not known")
    assert [(each.operator, each.macs, each.reason) for each in network.left_out] == [
        ("convolution", 2 * 3 * 4 * 6 * 27, "a convolution over 3 axes; allowed: 1 or 2"),
        ("_cdist_forward", None, "no rule for this operator"),
        ("twice", None, "an operator of ours; its MACs are unknown"),
        inside,
        inside,
    ]


REFUSED = {
    "no module": (5, TOKENS, ArgumentTypeError, "module is 5; allowed: a Module"),
    "nothing to map": (nn.ReLU(), TOKENS, NetworkError, "ReLU: no operator that can be mapped"),
    "wrong inputs": (nn.Linear(3, 4), TOKENS, NetworkError, "cannot trace Linear"),
    "wrong arguments": (nn.Linear(3, 4), (), NetworkError, "cannot trace Linear"),
    "depends on values": (
        Does(lambda a: a if a.sum() > 3 else -a),
        TOKENS,
        NetworkError,
        "cannot trace Does",
    ),
}


@pytest.mark.parametrize(("module", "inputs", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_read_is_refused_in_one_line(
    module: Any, inputs: Any, error: type[Exception], message: str
) -> None:
    with warnings.catch_warnings(), pytest.raises(error, match=message) as caught:
        from_torch(module, inputs)
    assert "\n" not in str(caught.value)
