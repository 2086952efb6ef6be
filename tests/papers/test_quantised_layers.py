"""Layers of PyTorch that simulate few bits, against the quantisers of NumPy and closed forms."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch", reason="needs the extra rl")

import torch

from maestro_env.base.errors import UnknownNameError
from maestro_env.mappers.papers.quantised.layers import Precision, Quantised, quantise, rounded
from maestro_env.mappers.papers.quantised.quantiser import (
    FORMS,
    QuantisationError,
    codes_between,
    codes_of,
)
from maestro_env.mappers.parts.threads import one_thread


def network(seed: int = 0) -> Any:
    """Two layers, of which the outputs of the first differ in their scale."""
    torch.manual_seed(seed)
    made = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
    with torch.no_grad():
        made[0].weight *= torch.logspace(-1, 1, 8)[:, None]
    return made


def calibrated(plain: Any, precision: Precision, inputs: Any) -> Any:
    made = copy.deepcopy(plain)
    quantise(made, precision)
    precision.recording = True
    made(inputs)
    precision.recording = False
    return made


def error(bits: int, inputs: Any, **options: bool) -> float:
    """The largest error of the outputs."""
    plain, precision = network(), Precision(**options)
    made = calibrated(plain, precision, inputs)
    precision.bits = bits
    return float((made(inputs) - plain(inputs)).detach().abs().max())


@given(st.integers(2, 16), st.booleans(), st.sampled_from(list(FORMS)), st.integers(0, 99))
def test_layers_compute_what_codes_of_numpy_do(
    bits: int, per_channel: bool, form: str, seed: int
) -> None:
    precision, clipped = Precision(per_channel=per_channel, form=form), form != "paper"
    plain, rng = network(seed), np.random.default_rng(seed)
    seen = rng.normal(size=(40, 5)).astype(np.float32)
    made = calibrated(plain, precision, torch.from_numpy(seen))
    precision.bits = bits
    weight = plain[0].weight.detach().numpy()
    codes = codes_of(weight, bits, 1 if per_channel else None, clipped)
    # Some of these are out of the range that was recorded.
    numbers = (2 * rng.normal(size=(40, 5))).astype(np.float32)
    inputs = numbers
    if form != "weights":
        inputs = codes_between(seen.min(), seen.max(), bits, clipped).simulated(numbers)
    weights = codes.simulated(weight)
    assert (rounded(plain[0].weight, codes).detach().numpy() == weights).all()
    found = made[0](torch.from_numpy(numbers)).detach().numpy()
    wanted = inputs @ weights.T + plain[0].bias.detach().numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_convolutions_have_a_range_for_each_output() -> None:
    torch.manual_seed(0)
    plain, precision = torch.nn.Sequential(torch.nn.Conv2d(2, 4, 3)), Precision()
    image = torch.randn(1, 2, 6, 6)
    made = calibrated(plain, precision, image)
    assert made[0].codes_of_weights(8).scale.shape == (4, 1, 1, 1)
    precision.bits = 16
    assert (made(image) - plain(image)).abs().max() < 1e-3


def test_many_bits_lose_little_and_a_range_for_each_channel_less() -> None:
    torch.manual_seed(1)
    inputs = torch.randn(200, 5)
    assert error(16, inputs) < 1e-3
    for bits in (4, 6, 8):
        assert error(bits, inputs) <= error(bits, inputs, per_channel=False)


@pytest.mark.parametrize("clipped", [True, False])
def test_the_gradient_is_that_of_the_identity_inside_of_the_range(clipped: bool) -> None:
    codes = codes_between(np.float32(-1), np.float32(2), 2, clipped)
    numbers = torch.tensor([-5.0, -1.0, 0.2, 1.9, 7.0], requires_grad=True)
    slopes = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0])
    (rounded(numbers, codes) * slopes).sum().backward()
    inside = torch.tensor([0, 1, 1, 1, 0]) if clipped else torch.ones(5)
    assert torch.equal(numbers.grad, slopes * inside)


def test_training_with_few_bits_changes_the_same_parameters() -> None:
    plain, precision = network(), Precision(bits=6, recording=True)
    before = list(plain.parameters())
    optimiser = torch.optim.Adam(before, 0.02)
    quantise(plain, precision)
    assert all(old is new for old, new in zip(before, plain.parameters(), strict=True))
    inputs = torch.randn(64, 5)
    wanted = torch.sin(inputs[:, :3])
    lost = []
    with one_thread():
        for _ in range(60):
            loss = ((plain(inputs) - wanted) ** 2).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            lost.append(loss.item())
    assert lost[-1] < lost[0] / 4
    # The ranges are those of all that was taken.
    assert float(plain[0].low) == float(inputs.min())


def test_an_empty_batch_widens_no_range() -> None:
    network = torch.nn.Sequential(torch.nn.Linear(2, 3))
    quantise(network, Precision(recording=True))
    assert network(torch.zeros(0, 2)).shape == (0, 3)
    network(torch.tensor([[1.0, 4.0]]))
    assert network(torch.zeros(0, 2)).shape == (0, 3)
    assert (float(network[0].low), float(network[0].high)) == (1, 4)


def test_modules_that_take_weights_as_they_are_keep_them() -> None:
    attention = torch.nn.MultiheadAttention(4, 2)
    network = torch.nn.ModuleList([torch.nn.Linear(4, 4), attention])
    quantise(network, Precision(recording=True))
    assert isinstance(network[0], Quantised)
    inputs = torch.ones(3, 1, 4)
    assert attention(inputs, inputs, inputs)[0].shape == (3, 1, 4)


def test_what_cannot_be_quantised_is_refused() -> None:
    with pytest.raises(QuantisationError, match=r"ReLU contains no layers; allowed: networks with"):
        quantise(torch.nn.ReLU(), Precision())
    network = torch.nn.Sequential(torch.nn.Linear(2, 3))
    quantise(network, Precision())
    with pytest.raises(QuantisationError, match="Sequential is quantised already; change"):
        quantise(network, Precision())
    with pytest.raises(UnknownNameError, match="unknown form 'papers'"):
        Precision(form="papers")
    layer = Quantised(torch.nn.Linear(2, 3), Precision(bits=8))
    with pytest.raises(QuantisationError, match=r"layer of 3 outputs has no range of inputs; rec"):
        layer(torch.zeros(1, 2))
    layer.precision = Precision(bits=17, recording=True)
    with pytest.raises(QuantisationError, match="17 bits; allowed: 2 to 16"):
        layer(torch.zeros(1, 2))
