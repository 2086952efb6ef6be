"""The pieces of an axis against a count of every product, and against PyTorch's convolutions."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from maestro_env.base.errors import LayerError
from maestro_env.workloads.lowering import Axis, Piece, TransposedAxis

small = st.integers(1, 6)


def macs(pieces: Counter[Piece]) -> int:
    outputs = {piece: (piece.size - piece.window) // piece.stride + 1 for piece in pieces}
    return sum(n * p.copies * outputs[p] * p.window for p, n in pieces.items())


@given(st.integers(1, 30), small, small, small, st.tuples(small, small))
def test_outputs_that_share_no_input_grid_are_the_copies(
    size: int, window: int, stride: int, dilation: int, padding: tuple[int, int]
) -> None:
    assume(size + sum(padding) > (window - 1) * dilation)
    axis = Axis(size, window, stride, dilation, padding)
    assert macs(axis.pieces()) == axis.macs
    if not axis.is_dilated:
        assert list(axis.pieces()) == [Piece(size + sum(padding), window, stride)]
        return
    # Outputs whose inputs lie on one grid of every d-th input, and how many inputs they span.
    grids = defaultdict(set)
    for y in range(axis.outputs):
        inputs = {y * stride + dilation * r for r in range(window)}
        grids[y * stride % dilation] |= inputs
    spans = Counter((max(each) - min(each)) // dilation + 1 for each in grids.values())
    found: Counter[int] = Counter()
    for piece, number in axis.pieces().items():
        found[piece.size] += piece.copies * number
    assert found == spans


@given(st.integers(1, 12), small, small, small, st.integers(0, 3), st.integers(0, 3))
def test_taps_that_meet_the_same_outputs_are_a_piece(
    size: int, window: int, stride: int, dilation: int, begin: int, end: int
) -> None:
    outputs = (size - 1) * stride + dilation * (window - 1) + 1 - begin - end
    assume(outputs > 0)
    axis = TransposedAxis(size, window, outputs, stride, dilation, begin)
    meeting = Counter(
        tuple(r for r in range(window) if (y + begin - dilation * r) % stride == 0)
        for y in range(outputs)
    )
    meeting.pop((), None)
    assert macs(axis.pieces()) == sum(len(taps) * number for taps, number in meeting.items())
    if dilation == 1:
        expected = Counter((len(taps), number) for taps, number in meeting.items())
        assert expected == Counter(
            {(p.window, p.size - p.window + 1): n for p, n in axis.pieces().items()}
        )


def test_a_window_larger_than_its_input_is_refused() -> None:
    with pytest.raises(LayerError, match=r"a window of 5 \(dilation 2\) is larger than the padded"):
        Axis(6, 5, dilation=2, padding=(1, 1))


@pytest.mark.parametrize("name", ["window", "stride", "dilation"])
def test_steps_are_positive(name: str) -> None:
    sizes = {"size": 4, "window": 2, "stride": 1, "dilation": 1, name: 0}
    with pytest.raises(LayerError, match=f"{name}( of)? 0.*; least: 1"):
        Axis(**sizes)
    with pytest.raises(LayerError, match=f"{name}( of)? 0.*; least: 1"):
        TransposedAxis(outputs=4, **sizes)


def test_a_window_of_any_size_takes_no_time() -> None:
    with pytest.raises(LayerError, match="too large"):
        TransposedAxis(4, 2**31, 2**31, 2**31).pieces()
    assert Axis(2**30, 3, 1, 2**29 - 1).pieces()
