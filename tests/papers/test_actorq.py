"""What a learner and its actors share: weights with a version, rows, and a limit of the rate."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from multiprocessing import get_context

import numpy as np
import pytest
from actorq_helpers import SIZE, publish
from hypothesis import given
from hypothesis import strategies as st

from maestro_env.mappers.papers.quantised.quantiser import Layers, coded, codes_of
from maestro_env.mappers.papers.quantised.shared import (
    COMPUTED,
    SENT,
    Packet,
    RateLimiter,
    SharedArray,
    SharedRows,
    SharedWeights,
)

WIDTHS = (3, 8, 5, 2)
RANGES = [(np.array([-2], np.float32), np.array([3], np.float32))] * 3


def drawn(seed: int) -> Layers:
    rng = np.random.default_rng(seed)
    shapes = list(pairwise(WIDTHS))
    return Layers(
        [rng.normal(0, 1, (1, *shape)).astype(np.float32) for shape in shapes],
        [rng.normal(0, 1, (1, after)).astype(np.float32) for _, after in shapes],
        "relu",
    )


def test_no_weights_are_pulled_that_are_written_meanwhile() -> None:
    weights, into = SharedWeights(SIZE), np.zeros(SIZE, np.uint8)
    pulled, seen = SharedArray((1,), np.int64), list[int]()
    writer = get_context("spawn").Process(target=publish, args=(weights, pulled))
    writer.start()
    while writer.is_alive():
        if weights.version > max(seen, default=0):
            seen.append(weights.pull(into))
            assert (into == seen[-1] % 256).all()
            pulled.array[0] += 1
    writer.join()
    assert writer.exitcode == 0
    assert seen == sorted(seen)
    assert len(seen) >= 5


@given(st.integers(0, 99), st.sampled_from(list(SENT)), st.sampled_from(COMPUTED))
def test_a_packet_computes_what_its_sender_would(seed: int, sent: int, computed: int) -> None:
    layers, sender, receiver = drawn(seed), Packet(WIDTHS, sent), Packet(WIDTHS, sent)
    sender.pack(layers, RANGES)
    receiver.bytes[:] = sender.bytes
    if sent == 16:
        rounded = [each.astype(np.float16).astype(np.float32) for each in layers.weights]
    elif sent == 8:
        rounded = [codes_of(each, 8, axes=1).simulated(each) for each in layers.weights]
    else:
        rounded = list(layers.weights)
    wanted = Layers(rounded, layers.biases, "relu")
    if sent == computed == 8:  # Codes are of the weights, not of what they stand for.
        wanted = layers
    inputs = np.random.default_rng(seed).uniform(-2, 3, (1, 4, 3)).astype(np.float32)
    network = wanted.fused() if computed == 32 else wanted.quantised(8, RANGES)
    np.testing.assert_array_equal(receiver.load(computed).run(inputs), network.run(inputs))


@given(st.integers(0, 2**32 - 1), st.integers(2, 8), st.floats(1e-3, 1e3))
def test_codes_are_those_of_the_formula(seed: int, bits: int, size: float) -> None:
    weights = np.random.default_rng(seed).normal(0, size, (2, 5, 4)).astype(np.float32)
    found, scales, zeros = coded(weights, bits)
    codes = codes_of(weights, bits, axes=1)
    np.testing.assert_array_equal(found, codes.encoded(weights))
    np.testing.assert_array_equal(scales, codes.scale[:, 0])
    np.testing.assert_array_equal(zeros, codes.zero[:, 0])


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 5)), max_size=20))
def test_every_row_is_taken_once_and_in_order(rounds: Sequence[tuple[int, int]]) -> None:
    rows, wanted = SharedRows(2, 3, 1), dict[int, list[float]]({0: [], 1: []})
    added = 0
    for actor, count in rounds:
        for _ in range(count):
            assert rows.is_full(actor) == (len(wanted[actor]) == 3)
            if not rows.is_full(actor):
                rows.add(actor, np.array([added], np.float32))
                wanted[actor].append(added)
                added += 1
        assert rows.added == added
        if count % 2:
            assert rows.take()[:, 0].tolist() == wanted[0] + wanted[1]
            wanted = {0: [], 1: []}


@given(
    st.floats(0.05, 64),
    st.integers(1, 300),
    st.integers(1, 500),
    st.lists(st.booleans(), min_size=1, max_size=50),
)
def test_the_rate_is_held_and_never_do_both_sides_wait(
    spi: float, batch: int, least: int, wishes: Sequence[bool]
) -> None:
    limiter, inserted, sampled = RateLimiter(spi, batch, least), 0, 0
    for turn in range(2000):
        insert = limiter.may_insert(inserted, sampled)
        sample = limiter.may_sample(inserted, sampled)
        assert insert or sample
        if insert and (wishes[turn % len(wishes)] or not sample):
            inserted += 1
        elif sample:
            sampled += batch
        lead = spi * (inserted - least) - sampled
        assert inserted < least or abs(lead) <= limiter.tolerance + 1e-6
    assert sampled == 0 or inserted >= least


def test_bytes_that_are_sent_by_bits() -> None:
    sizes = {bits: len(Packet((64, 2048, 2048, 4), bits).bytes) for bits in SENT}
    assert sizes[32] / sizes[16] == pytest.approx(2, rel=0.01)
    assert sizes[32] / sizes[8] == pytest.approx(4, rel=0.02)
