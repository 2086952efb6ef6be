"""Layers are checked when they are made, and equal where they mean the same."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maestro_env.base.errors import ArgumentTypeError, LayerError
from maestro_env.workloads.layer import Layer

CONV = {"K": 16, "C": 32, "Y": 112, "X": 112, "R": 1, "S": 1}


@given(st.data())
def test_counts_are_those_of_the_loop_nest(data: st.DataObject) -> None:
    k, c, r, s = (data.draw(st.integers(1, 4)) for _ in range(4))
    y, x = (data.draw(st.integers(window, 12)) for window in (r, s))
    sy, sx = (data.draw(st.integers(1, 5)) for _ in range(2))
    layer = Layer("CONV", {"K": k, "C": c, "Y": y, "X": x, "R": r, "S": s}, (sy, sx))
    rows = range(0, y - r + 1, sy)
    columns = range(0, x - s + 1, sx)
    assert layer.macs == k * c * r * s * len(rows) * len(columns)
    assert layer.output_words == k * len(rows) * len(columns)
    assert layer.filter_words == k * c * r * s
    touched_rows = {start + tap for start in rows for tap in range(r)}
    touched_columns = {start + tap for start in columns for tap in range(s)}
    assert layer.input_words == c * len(touched_rows) * len(touched_columns)


def test_the_order_of_dimensions_means_nothing() -> None:
    backwards = dict(reversed(CONV.items()))
    assert Layer("CONV", CONV) == Layer("CONV", backwards)
    assert hash(Layer("CONV", CONV)) == hash(Layer("CONV", backwards))
    assert list(Layer("CONV", backwards).extents) == list(CONV)


def test_layers_can_be_copied_after_use() -> None:
    layer = Layer("CONV", CONV, (2, 1), "name", 3)
    assert layer.macs > 0
    assert copy.deepcopy(layer) == pickle.loads(pickle.dumps(layer)) == layer


def test_numpy_integers_and_lists_are_welcome() -> None:
    given_by_numpy = {name: np.int64(extent) for name, extent in CONV.items()}
    layer = Layer("CONV", given_by_numpy, [np.int32(1), 1])
    assert layer == Layer("CONV", CONV)
    assert not layer.is_strided


@pytest.mark.parametrize(
    ("operator", "extents", "stride", "message"),
    [
        ("CNN", CONV, (1, 1), "unknown operator 'CNN': allowed: CONV"),
        ("CONV", {**CONV, "Q": 1}, (1, 1), "no dimension 'Q'; dimensions: K, C, Y, X, R, S, N"),
        ("CONV", {"K": 1}, (1, 1), "lacks C"),
        ("CONV", {**CONV, "K": 0}, (1, 1), "K is 0; allowed: integers from 1"),
        ("CONV", {**CONV, "K": True}, (1, 1), "K is True"),
        ("CONV", {**CONV, "K": 2**31}, (1, 1), "K is 2147483648"),
        ("CONV", {**CONV, "R": 113}, (1, 1), "window R = 113 is larger than the input Y = 112"),
        ("CONV", CONV, (0, 1), "stride of Y is 0"),
        ("CONV", CONV, 2, "stride is 2; allowed: a pair"),
        ("CONV", CONV, (1, 1, 1), "allowed: a pair"),
        ("GEMM", {"M": 1, "N": 1, "K": 1}, (2, 2), "a GEMM has no stride"),
        ("GEMM", {"M": 2**31 - 1, "N": 2**31 - 1, "K": 4}, (1, 1), "more than 2.62 MACs"),
        ("CONV", None, (1, 1), "extents is None"),
    ],
)
def test_impossible_layers_are_refused(
    operator: str, extents: dict[str, int], stride: tuple[int, int], message: str
) -> None:
    with pytest.raises((LayerError, ArgumentTypeError), match=message):
        Layer(operator, extents, stride)
