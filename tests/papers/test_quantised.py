"""Quantisers and fused networks, against formulas and plain NumPy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from maestro_env.base.native_learning import KERNELS, integer_perceptrons, perceptrons
from maestro_env.mappers.papers.quantised.quantiser import (
    Codes,
    Layers,
    QuantisationError,
    codes_between,
    codes_of,
)
from maestro_env.mappers.parts.arrays import Floats32

BITS = st.integers(2, 16)
NUMBERS = arrays(
    np.float32,
    st.integers(0, 20),
    elements=st.floats(-1e6, 1e6, width=32, allow_subnormal=False),
)


def test_the_papers_formula_has_its_golden_values() -> None:
    # delta = (1 + 3) / 2^2 = 1; Q = round(W / delta), D = delta Q, nothing is clipped.
    weights = np.array([-1, -0.4, 0, 0.6, 2.4, 3], dtype=np.float32)
    codes = codes_of(weights, 2, clipped=False)
    assert (float(codes.scale), int(codes.zero)) == (1, 0)
    assert codes.encoded(weights).tolist() == [-1, 0, 0, 1, 2, 3]
    # One code more than 2 bits have.
    assert len(np.unique(codes.encoded(np.linspace(-1, 3, 99, dtype=np.float32)))) == 5


def test_clipped_codes_divide_the_range_between_both_ends() -> None:
    codes = codes_of(np.array([-1, 2], dtype=np.float32), 2)
    assert (float(codes.scale), int(codes.zero)) == (1, 1)
    given = np.array([-9, -1, 0, 1.4, 2, 7], dtype=np.float32)
    assert codes.encoded(given).tolist() == [0, 0, 1, 2, 3, 3]
    assert codes.simulated(given).tolist() == [-1, -1, 0, 1, 2, 2]


@given(NUMBERS, BITS)
@example(np.array([3e-38], np.float32), 16)
def test_no_number_of_the_range_is_off_by_more_than_half_a_step(
    numbers: Floats32, bits: int
) -> None:
    codes = codes_of(numbers, bits)
    found = codes.encoded(numbers)
    assert ((found >= 0) & (found < 2**bits)).all()
    # The zero is rounded as well, which moves the ends by half a step.
    room = 1.001 * codes.scale + 1e-6 * np.abs(numbers)
    assert (np.abs(codes.decoded(found) - numbers) <= room).all()
    assert codes.simulated(np.zeros(1, np.float32)) == 0


@pytest.mark.parametrize("clipped", [True, False])
@pytest.mark.parametrize("numbers", [[], [0, 0], [2.5, 2.5], [-3], [1, 7], [-7, -1]])
def test_constant_one_sided_and_empty_arrays_keep_their_farthest_end(
    numbers: list[float], clipped: bool
) -> None:
    given = np.array(numbers, dtype=np.float32)
    codes = codes_of(given, 8, clipped=clipped)
    assert 0 < codes.scale <= 1
    found = codes.simulated(given)
    np.testing.assert_allclose(found, given, atol=float(codes.scale))
    np.testing.assert_allclose(np.abs(found).max(initial=0), np.abs(given).max(initial=0))


@given(arrays(np.float32, (4, 5), elements=st.floats(-100, 100, width=32)), BITS)
def test_a_range_for_each_channel_loses_no_more_than_one_of_all(
    numbers: Floats32, bits: int
) -> None:
    channels = codes_of(numbers, bits, axes=0)
    assert channels.scale.shape == (1, 5)
    assert (
        channels.scale <= np.where(channels.scale == 1, np.inf, codes_of(numbers, bits).scale)
    ).all()


def test_what_is_far_outside_of_the_range_takes_its_ends() -> None:
    codes = codes_between(np.float32(-1), np.float32(1), 8)
    far = np.array([1e17, 3e38, np.inf, -1e17, -3e38, -np.inf], dtype=np.float32)
    assert codes.encoded(far).tolist() == [255] * 3 + [0] * 3
    tiny = codes_between(np.float32(-1e-37), np.float32(1e-37), 8)
    assert tiny.encoded(far).tolist() == [255] * 3 + [0] * 3


@pytest.mark.parametrize("bits", [-1, 1, 17])
def test_other_bits_are_refused(bits: int) -> None:
    with pytest.raises(QuantisationError, match=rf"^{bits} bits; allowed: 2 to 16$"):
        codes_of(np.ones(3, np.float32), bits)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 3e38])
def test_what_is_not_finite_is_refused(number: float) -> None:
    with pytest.raises(QuantisationError, match="not finite"):
        codes_of(np.array([-1e38, number], dtype=np.float32), 8)


def layers_of(rng: np.random.Generator, agents: int, widths: list[int], activation: str) -> Layers:
    pairs = list(pairwise(widths))
    return Layers(
        [rng.normal(0, 1 / np.sqrt(a), (agents, a, b)).astype(np.float32) for a, b in pairs],
        [rng.normal(0, 0.1, (agents, b)).astype(np.float32) for _, b in pairs],
        activation,
    )


def activated(layers: Layers, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Apply the activation."""
    return np.maximum(numbers, 0) if layers.activation == "relu" else np.tanh(numbers)


def plain(layers: Layers, inputs: Floats32) -> list[NDArray[np.float64]]:
    """What each layer takes, and the outputs at last, in double precision."""
    found = [inputs.astype(np.float64)]
    for weights, biases in zip(layers.weights, layers.biases, strict=True):
        if len(found) > 1:
            found[-1] = activated(layers, found[-1])
        found.append(found[-1] @ weights + biases[:, None])
    return found


def ranges_of(layers: Layers, inputs: Floats32) -> list[tuple[Floats32, Floats32]]:
    """The least and the greatest number that each layer of each agent takes."""
    return [
        (each.min(axis=(1, 2)).astype(np.float32), each.max(axis=(1, 2)).astype(np.float32))
        for each in plain(layers, inputs)[:-1]
    ]


WIDTHS = st.lists(st.integers(1, 70), min_size=2, max_size=5)
ACTIVATIONS = st.sampled_from(["relu", "tanh"])


@given(WIDTHS, st.integers(1, 4), st.integers(1, 140), ACTIVATIONS, st.booleans())
def test_fused_layers_are_those_of_numpy(
    widths: list[int], agents: int, rows: int, activation: str, shared: bool
) -> None:
    rng = np.random.default_rng(0)
    layers = layers_of(rng, agents, widths, activation)
    shape = (rows, widths[0]) if shared else (agents, rows, widths[0])
    inputs = rng.normal(size=shape).astype(np.float32)
    *_, wanted = plain(layers, np.broadcast_to(inputs, (agents, rows, widths[0])))
    np.testing.assert_allclose(layers.fused().run(inputs), wanted, atol=1e-5)


def simulated(layers: Layers, inputs: Floats32, bits: int, inner: list[Codes]) -> list[Floats32]:
    """What each layer takes, and the outputs, with every weight and input rounded to its code."""
    found = [inputs]
    for weights, biases, codes in zip(layers.weights, layers.biases, inner, strict=True):
        taken = Codes(bits, codes.scale[:, None, None], codes.zero[:, None, None]).simulated(
            found[-1]
        )
        sums = taken.astype(np.float64) @ codes_of(weights, bits, axes=1).simulated(weights)
        numbers = sums + biases[:, None]
        if len(found) < len(layers.weights):
            numbers = activated(layers, numbers)
        found.append(numbers.astype(np.float32))
    return found


@given(WIDTHS, st.integers(1, 3), st.integers(1, 70), ACTIVATIONS, st.integers(2, 8))
def test_integers_give_what_is_simulated_but_for_ties(
    widths: list[int], agents: int, rows: int, activation: str, bits: int
) -> None:
    rng = np.random.default_rng(1)
    layers = layers_of(rng, agents, widths, activation)
    inputs = rng.normal(size=(agents, rows, widths[0])).astype(np.float32)
    ranges = ranges_of(layers, inputs)
    found = {kernel: layers.quantised(bits, ranges, kernel).run(inputs) for kernel in KERNELS}
    for other in found.values():
        assert (other == found[KERNELS[-1]]).all()
    inner = [codes_between(low, high, bits) for low, high in ranges]
    *_, wanted = simulated(layers, inputs, bits, inner)
    # A number between two codes may go to either: one code of a last input, times its weight.
    code = inner[-1].scale[:, None] * np.abs(layers.weights[-1]).max(axis=1)
    assert (np.abs(found[KERNELS[-1]] - wanted) <= 3 * code[:, None] + 1e-5).all()


def test_most_numbers_are_simulated_to_the_last_digits() -> None:
    rng = np.random.default_rng(2)
    layers = layers_of(rng, 13, [16, 64, 64, 10], "tanh")
    inputs = rng.normal(size=(13, 50, 16)).astype(np.float32)
    ranges = ranges_of(layers, inputs)
    inner = [codes_between(low, high, 8) for low, high in ranges]
    *_, wanted = simulated(layers, inputs, 8, inner)
    off = np.abs(layers.quantised(8, ranges).run(inputs) - wanted)
    assert (off < 1e-5).mean() > 0.9


def test_what_does_not_fit_is_refused() -> None:
    layers = layers_of(np.random.default_rng(0), 2, [3, 4], "relu")
    with pytest.raises(
        ValueError, match=r"^inputs are \[B, 3\] or \[2, B, 3\], got float32 of shape"
    ):
        layers.fused().run(np.zeros((5, 4), np.float32))
    with pytest.raises(ValueError, match=r"^activation gelu; allowed: relu, tanh$"):
        Layers(layers.weights, layers.biases, "gelu").fused()
    with pytest.raises(ValueError, match=r"^biases do not fit the matrices$"):
        perceptrons(layers.weights, [], "relu")
    with pytest.raises(ValueError, match=r"^kernel neon; this processor has: plain"):
        layers.quantised(8, [(np.zeros(2, np.float32), np.ones(2, np.float32))], "neon")
    codes = np.zeros((2, 3, 4), np.uint8), np.ones((2, 4), np.float32), np.zeros((2, 4), np.int32)
    inputs = np.ones(2, np.float32), np.zeros(2, np.int32)
    for most in (-1, 0, 256):
        with pytest.raises(ValueError, match=f"^the largest code is 1 to 255, got {most}$"):
            integer_perceptrons([codes], layers.biases, [inputs], "relu", most)
    with pytest.raises(QuantisationError, match=r"^9 bits; allowed for integer"):
        layers.quantised(9, [])
