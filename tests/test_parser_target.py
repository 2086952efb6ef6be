"""Texts cut, spliced and garbled are read or refused; the same target is fuzzed with atheris."""

from __future__ import annotations

import parser_target
import pytest
from hypothesis import given
from hypothesis import strategies as st
from parser_target import READERS, check, seeds

SEEDS = tuple(seeds())
NUMBERS = (b"0", b"-1", b"1", b"2147483647", b"4294967295", b"9" * 30, b"Sz(K)", b"1e9")
WORDS = (
    b"Cluster",
    b"TemporalMap",
    b"SpatialMap",
    b"{",
    b"}",
    b"(",
    b",",
    b";",
    b"//",
    b"\0",
    b"[",
)


@st.composite
def garbled(draw: st.DrawFn) -> bytes:
    """A seed after some cuts, each with something else in its place."""
    text = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(0, 6))):
        start = draw(st.integers(1, len(text)))
        end = min(len(text), start + draw(st.integers(0, 30)))
        other = draw(st.sampled_from(SEEDS))
        piece = draw(st.one_of(st.sampled_from((*NUMBERS, *WORDS, b"")), st.binary(max_size=4)))
        if draw(st.booleans()):
            place = draw(st.integers(0, len(other)))
            piece = other[place : place + draw(st.integers(0, 60))]
        text = text[:start] + piece + text[end:]
    return text


def test_the_seeds_are_read_by_all_readers() -> None:
    assert len(SEEDS) > 500
    assert {seed[0] for seed in SEEDS} == set(range(len(READERS)))
    for seed in SEEDS:
        check(seed)


@given(garbled())
def test_garbled_texts_are_read_or_refused(text: bytes) -> None:
    check(text)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    check(data)


@pytest.mark.parametrize("name", ["parse", "run", "parse_hardware", "parse_layer"])
def test_any_other_error_shows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise IndexError(name)

    monkeypatch.setattr(parser_target, name, fail)
    with pytest.raises(IndexError, match=name):
        list(map(check, SEEDS))
