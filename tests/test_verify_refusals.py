"""The checker of certificates refuses whatever is changed in one, and says where."""

from __future__ import annotations

import gzip
import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from certificate_forger import EVALUATE, FROM_BELOW, TINY, Entry, tiny
from commands import verify
from hypothesis import given
from hypothesis import strategies as st
from optimum_helpers import EDP

from maestro_env.experiments.commands.verify import verify as check
from maestro_env.experiments.commands.verify.claim import CertificateError

Refusal = Callable[[bytes], str]
# The axis behind those of the tiles of three dimensions.
CLUSTER = 6


@pytest.fixture
def refusal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Refusal:
    """What returns the line that the content of a file is refused with."""
    path = tmp_path / "c.gz"

    def refuse(content: bytes, compressed: bool = False) -> str:
        path.write_bytes(content if compressed else gzip.compress(content))
        assert verify([str(path)]) == 1
        shown = capsys.readouterr()
        assert shown.out == ""
        (line,) = shown.err.splitlines()
        assert line.startswith(f"refused: {path}: ")
        return line

    return refuse


def by_size(entry: Entry) -> bool:
    return entry.action <= 6 and len(entry.parts) > 1


def into_two(entry: Entry) -> bool:
    return by_size(entry) and len(entry.parts) == 2


def into_more(entry: Entry) -> bool:
    return by_size(entry) and len(entry.parts) > 2


def by_loop(entry: Entry) -> bool:
    return entry.action in (7, 8) and len(entry.parts) > 1


def goes_on(entry: Entry) -> bool:
    return any(on for _, on in entry.parts)


UNEQUAL = "has parts that do not add up to its range"


@pytest.mark.parametrize(
    ("wanted", "what", "change", "reason"),
    [
        (goes_on, "parts", lambda old: [(size, False) for size, _ in old], "box 0 has a part left"),
        (goes_on, "parts", lambda _: [], "has no parts, but may have mappings"),
        (by_size, "parts", lambda old: [*old[:-1], (old[-1][0] + 1, True)], UNEQUAL),
        (by_size, "parts", lambda old: [*old[:-1], (0, True)], "has an empty part"),
        (by_size, "parts", lambda old: [*old, old[-1]], UNEQUAL),
        (into_more, "parts", lambda old: old[:-1], UNEQUAL),
        (into_two, "parts", lambda old: old[:-1], "is split into one part"),
        (by_loop, "parts", lambda old: [*old, old[-1]], "has an innermost loop twice"),
        (by_loop, "parts", lambda old: old[:-1], "lacks an innermost loop"),
        (by_loop, "parts", lambda old: [*old[:-1], (99, True)], "has a part of no innermost loop"),
        (by_size, "action", lambda _: EVALUATE, "is to be evaluated, but has several sizes"),
        (by_size, "action", lambda _: 9, "is split by no axis"),
        (by_size, "trims", lambda _: [(0, -2)], "is trimmed beyond its range"),
        (by_size, "trims", lambda _: [(FROM_BELOW, 99)], "is trimmed beyond its range"),
        (by_size, "trims", lambda _: [(FROM_BELOW, 1)], "is trimmed of what may cost less"),
        (by_size, "trims", lambda _: [(CLUSTER, 0)], "is trimmed of what may cost less"),
        (by_size, "trims", lambda _: [(CLUSTER + 1, 0)], "is trimmed along no size"),
        (
            lambda entry: entry.trims,
            "trims",
            lambda old: [(axis, end - 1) for axis, end in old],
            "is trimmed of what may cost less",
        ),
    ],
)
def test_changed_boxes_are_refused(refusal, wanted, what, change, reason) -> None:
    def changed(entry: Entry) -> Entry:
        return replace(entry, **{what: change(getattr(entry, what))})

    line = refusal(tiny().forged(wanted, changed))
    assert line.split(": ")[2].startswith("block ")
    assert reason in line


def test_a_leaf_that_is_left_out_is_refused(refusal) -> None:
    *_, before, last = tiny().blocks
    # The boxes of a list are the parts of the one before that go on.
    parts = [(each, place) for each in before for place, (_, on) in enumerate(each.parts) if on]
    entry, left_out = parts[[each.action for each in last].index(EVALUATE)]
    kept = [(value, on and n != left_out) for n, (value, on) in enumerate(entry.parts)]
    content = tiny().forged(lambda each: each is entry, lambda _: replace(entry, parts=kept))
    assert "has a part left out with the bound" in refusal(content)


def test_changed_claims_are_refused(refusal) -> None:
    header = tiny().header
    best, point = header["optimum"]["value"], header["optimum"]["point"]
    hardware, layer = header["hardware"], header["layer"]
    energy = {"name": "energy", "factors": ["energy_nj"]}
    costs = "the optimum's point costs"
    points = TINY.space.sample(500, np.random.default_rng(0))
    values, _ = TINY.score(points, EDP)
    worst = int(np.argmax(np.where(np.isfinite(values), values, 0)))
    worse = {"value": float(values[worst]), "point": points[worst].tolist()}
    assert " box 0 is trimmed of what may cost less" in refusal(tiny(0.7).content(bound=best))
    for changes, reason in (
        ({"optimum": {"value": best * 0.9, "point": point}, "bound": best * 0.9}, costs),
        ({"optimum": {"value": best, "point": [0] * len(point)}}, costs),
        ({"optimum": {"value": best, "point": [*point[:-1], 99]}}, "not a vector of the space"),
        ({"optimum": worse}, "below the claim"),
        ({"bound": best * 1.01}, "is above the optimum"),
        ({"bound": None}, "is above the optimum"),
        ({"optimum": None, "bound": None}, "is trimmed of what may cost less"),
        ({"hardware": hardware | {"noc_bw": 3}}, costs),
        ({"hardware": hardware | {"l1_bytes": 40}}, "is trimmed of what may cost less"),
        ({"hardware": hardware | {"num_pes": -1}}, "num_pes is -1"),
        ({"layer": layer | {"extents": layer["extents"] | {"M": 5}}}, costs),
        ({"layer": layer | {"operator": "FFT"}}, "unknown operator 'FFT'"),
        ({"objective": energy}, costs),
        ({"objective": energy | {"name": "edp"}}, "objective 'edp' is not a product of energy_nj"),
        ({"objective": energy | {"factors": ["power_mw"]}}, "factors are ['power_mw']; allowed"),
        ({"tiles": "divisors"}, costs),
        ({"format": "maestro-env certificate 1"}, "format is 'maestro-env certificate 1'"),
        ({"more": 1}, "the header has"),
        ({"bound": 0}, "bound is 0; allowed: numbers above 0"),
        ({"hardware": hardware | {"name": "cloud"}}, "called cloud, and has other figures"),
        ({"layer": layer | {"name": "resnet18_l2"}}, "layer has"),
        ({"bound": math.nan}, "bound is nan; allowed: numbers above 0"),
        # Too many sizes are refused at once.
        ({"layer": layer | {"extents": layer["extents"] | {"M": 2**31 - 1}}}, "allowed: 1,048,576"),
    ):
        assert reason in refusal(tiny().content(**changes)), changes


def test_missing_and_odd_roots_are_refused(refusal) -> None:
    roots = tiny().roots
    for each, reason in (
        ([pair for pair in roots if pair != [0, 0]], "root M/M of parallel loops is missing"),
        ([*roots, [0, 0]], "root M/M is there twice"),
        ([*roots, [7, 0]], "root (7)/M is not a pair of parallel loops"),
    ):
        assert reason in refusal(replace(tiny(), roots=each).content())


def test_damaged_streams_are_refused(refusal, tmp_path: Path, capsys) -> None:
    content = tiny().content()
    whole = gzip.compress(content)
    header = content.index(b"\n") + 1
    for each, reason in (
        (content[:-1], "the stream ends in the middle"),
        (content[:header], "the stream ends in the middle"),
        (content + b"\0", "the stream continues after its end"),
        (b"{" * 10**6, "the header is not a line of at most 65,536 bytes"),
        (b"[" * 60_000 + b"\n", "the header is not JSON"),
        (b"3\n", "format is 3"),
    ):
        assert reason in refusal(each)
    for each, reason in (
        (whole[:-20], "no whole gzip file"),
        (whole[:-6] + bytes(6), "no gzip file: CRC check failed"),
        (whole + b"more", "no gzip file"),
        (content, "no gzip file"),
        (b"", "the header is not a line"),
    ):
        assert reason in refusal(each, compressed=True)
    assert verify([str(tmp_path / "none.gz")]) == 1
    assert "No such file" in capsys.readouterr().err
    assert verify([]) == 2


@given(st.data())
def test_no_change_of_a_byte_is_a_traceback(tmp_path_factory, data) -> None:
    content = bytearray(tiny().content())
    header = content.index(b"\n") + 1
    begin, stop = data.draw(st.sampled_from([(0, header), (header, len(content))]))
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(begin, stop - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("c") / "c.gz"
    path.write_bytes(gzip.compress(bytes(content)))
    with suppress(CertificateError):
        check(path)
