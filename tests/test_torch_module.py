"""Networks read from PyTorch modules, against PyTorch's own counter of operations."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs the extra rl")

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - its usual name
from torch.utils.flop_counter import FlopCounterMode

from maestro_env.base.errors import ArgumentTypeError, NetworkError
from maestro_env.workloads.files.torch_module import from_torch
from maestro_env.workloads.layer import Layer

IMAGE = torch.empty(2, 6, 9, 8)
TOKENS = torch.empty(2, 5, 16)


class Does(nn.Module):
    """A module that does what a function does."""

    def __init__(self, function: Callable[..., Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Tensor, **named: Tensor) -> Tensor:
        return self.function(*inputs, **named)


class Beside(nn.Module):
    """Modules beside each other; to trace them all takes little longer than one."""

    def __init__(self, *modules: nn.Module) -> None:
        super().__init__()
        self.all = nn.ModuleList(modules)

    def forward(self, image: Tensor, tokens: Tensor) -> list[Any]:
        return [each(image if isinstance(each, nn.Conv2d) else tokens) for each in self.all]


def facts(layers: tuple[Layer, ...]) -> list[Any]:
    return [(x.operator, dict(x.extents), x.stride, x.count) for x in layers]


COUNTED = (
    nn.Conv2d(6, 4, 3, stride=(2, 1), padding=(1, 2), groups=2),
    nn.Conv2d(6, 6, 3, groups=6),
    nn.Conv2d(6, 4, 3, padding=2, dilation=2),
    nn.Conv2d(6, 4, 3, dilation=(3, 2), stride=(1, 3), padding=3),
    nn.Conv2d(6, 4, (4, 3), padding="same"),
    nn.Conv1d(5, 7, 3),
    nn.Linear(16, 3),
    nn.TransformerEncoderLayer(16, 4, 32, batch_first=True),
    Does(lambda a: torch.bmm(a, a.mT)),
    Does(lambda a: torch.baddbmm(a[:, :, :5], a, a.mT)),
    Does(lambda a: a[:, None] @ a[None].mT),
    Does(lambda a: torch.addmm(a[0], a[0] @ a[0].T, a[0])),
    Does(lambda a: torch.einsum("bij,bkj->bik", a, a)),
    Does(lambda a: torch.tensordot(a, a, dims=([2], [2]))),
    Does(lambda a: torch.linalg.multi_dot([a[0], a[0].T, a[0]])),
)


def test_macs_are_half_the_operations_that_pytorch_counts() -> None:
    module = Beside(*COUNTED).eval()
    network = from_torch(module, (IMAGE, TOKENS))
    assert network.left_out == ()
    # Kernels that are fused are not counted.
    with (
        FlopCounterMode(display=False) as counter,
        nn.attention.sdpa_kernel(nn.attention.SDPBackend.MATH),
    ):
        module(IMAGE, TOKENS)
    assert network.macs == counter.get_total_flops() // 2


def gemm(m: int, n: int, k: int, count: int = 1) -> Any:
    return "GEMM", {"M": m, "N": n, "K": k}, (1, 1), count


Products = dict[tuple[int, int, int], int]
"""How often there is a product of M, N and K."""
UNCOUNTED: tuple[tuple[nn.Module, Products], ...] = (
    (Does(lambda a: a[0] @ a[0, 0]), {(5, 1, 16): 1}),
    (Does(lambda a: a[0, 0] @ a[0, 1]), {(1, 1, 16): 1}),
    (Does(lambda a: torch.addbmm(a[0, :, :5], a, a.mT)), {(5, 5, 32): 1}),
    (Does(lambda a: F.bilinear(a, a, torch.ones(3, 16, 16))), {(10, 48, 16): 1, (3, 1, 16): 10}),
    (
        nn.LSTM(16, 8, num_layers=2, bidirectional=True, batch_first=True),
        {(10, 32, 16): 4, (2, 32, 8): 20},
    ),
    (nn.LSTM(16, 8, proj_size=3), {(10, 32, 16): 1, (5, 32, 3): 2, (5, 3, 8): 2}),
    (nn.GRU(16, 8), {(10, 24, 16): 1, (5, 24, 8): 2}),
    (nn.RNN(16, 8, nonlinearity="relu"), {(10, 8, 16): 1, (5, 8, 8): 2}),
    (
        Does(
            lambda a: F.scaled_dot_product_attention(
                a.expand(6, 2, 5, 16).transpose(0, 1),
                a[:, None].expand(2, 3, 5, 16),
                a[:, None].expand(2, 3, 5, 16),
                enable_gqa=True,
            )
        ),
        {(5, 5, 16): 12, (5, 16, 5): 12},
    ),
)


def test_operators_that_pytorch_does_not_count() -> None:
    network = from_torch(Beside(*(module for module, _ in UNCOUNTED)), (IMAGE, TOKENS))
    assert network.left_out == ()
    # Equal layers are one.
    expected = sum((Counter(products) for _, products in UNCOUNTED), Counter())
    products = [gemm(*extents, count) for extents, count in expected.items()]
    assert sorted(facts(network.layers), key=str) == sorted(products, key=str)


def test_transposed_convolutions() -> None:
    network = from_torch(nn.ConvTranspose2d(6, 4, 4, stride=2, padding=1), IMAGE)
    extents = {"K": 4, "C": 6, "Y": 10, "X": 9, "R": 2, "S": 2, "N": 2}
    assert facts(network.layers) == [("CONV", extents, (1, 1), 4)]
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
    assert facts(network.layers) == [gemm(5, 5, 16, 2)]
    assert network.name == "Does"


def test_code_without_gradients_is_read_too() -> None:
    def product(a: Tensor) -> Tensor:
        with torch.no_grad():
            b = a @ a.mT
        return b @ a

    assert facts(from_torch(Does(product), TOKENS).layers) == [gemm(5, 5, 16, 2), gemm(5, 16, 5, 2)]


def test_frozen_transformers_are_not_fused() -> None:
    module = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True).eval().requires_grad_(False)
    with torch.no_grad():
        network = from_torch(module, TOKENS)
    assert network.left_out == ()
    assert network.macs == 10 * (4 * 16**2 + 2 * 16 * 32) + 2 * 2 * 5 * 5 * 16
    assert torch.backends.mha.get_fastpath_enabled()


def left_out(module: nn.Module, *inputs: Tensor) -> list[Any]:
    network = from_torch(module, inputs)
    return [(each.operator, each.macs, each.reason) for each in network.left_out]


def test_a_convolution_over_three_axes_is_left_out() -> None:
    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.solid, self.flat = nn.Conv3d(1, 2, 3), nn.Linear(8, 2)

        def forward(self, x: Tensor) -> Tensor:
            return self.solid(x).sum() + self.flat(x).sum()

    ((operator, macs, reason),) = left_out(Both(), torch.empty(1, 1, 5, 6, 8))
    assert (operator, macs) == ("convolution", 2 * 3 * 4 * 6 * 27)
    assert reason == "a convolution over 3 axes; allowed: 1 or 2"


def test_an_operator_without_a_rule_is_left_out() -> None:
    ((operator, macs, reason),) = left_out(Does(lambda a: torch.cdist(a, a) + a @ a.mT), TOKENS)
    assert (operator, macs, reason) == ("_cdist_forward", None, "no rule for this operator")


def test_operators_of_others_are_left_out() -> None:
    with torch.library._scoped_library("ours", "FRAGMENT") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x + x, "CompositeExplicitAutograd")
        torch.library.register_fake("ours::twice", torch.empty_like, lib=library)
        found = left_out(Does(lambda a: torch.ops.ours.twice(a) @ a.mT), TOKENS)
    assert found == [("twice", None, "an operator of ours; its MACs are unknown")]


def test_the_branches_of_a_condition_are_left_out() -> None:
    def branch(a: Tensor) -> Tensor:
        square = lambda a: a @ a.transpose(1, 2)  # noqa: E731 - traced where it stands
        return torch.cond(a.sum() > 0, square, lambda a: square(a) + 1, (a,)) @ a

    found = left_out(Does(branch), TOKENS)
    assert [(operator, macs) for operator, macs, _ in found] == [("matmul", None)] * 2
    assert all("in the body of cond" in reason for *_, reason in found)


REFUSED = {
    "no module": (5, TOKENS, ArgumentTypeError, "module is 5; allowed: a Module"),
    "nothing to map": (nn.ReLU(), TOKENS, NetworkError, "ReLU: no operator that can be mapped"),
    "wrong inputs": (nn.Linear(3, 4), TOKENS, NetworkError, "cannot trace Linear"),
    "wrong arguments": (nn.Linear(3, 4), (), NetworkError, "cannot trace Linear"),
    "depends on values": (
        Does(lambda a: a[a > 0].sum() if a.sum() > 3 else a),
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
