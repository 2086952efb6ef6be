"""The checker of certificates refuses whatever is changed in one, and says where."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from certificate_writer import Entry, Writer
from commands import verify
from hypothesis import given
from hypothesis import strategies as st
from verify_helpers import EDP, TINY, content_of, tiny

from experiments.commands.verify.bounds.boxes import Table
from experiments.commands.verify.certificate.check import verify as check
from experiments.commands.verify.certificate.stream import CertificateError


def refusal(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes) -> str:
    """Return the line that a file is refused with."""
    path = tmp_path / "c.gz"
    path.write_bytes(content)
    assert verify([str(path)]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    (line,) = shown.err.splitlines()
    assert line.startswith(f"refused: {path}: ")
    return line


def once(wanted: Callable[[Entry], bool], change: Callable[[Entry], object]):
    """Return an edit that changes the first entry that is wanted."""
    done = []

    def edit(entry: Entry, box: Table) -> None:
        if not done and wanted(entry):
            done.append(change(entry))

    return edit


def by_size(entry: Entry) -> bool:
    return entry.action <= 6 and len(entry.parts) > 1


def by_loop(entry: Entry) -> bool:
    return entry.action in (7, 8) and len(entry.parts) > 1


def goes_on(entry: Entry) -> bool:
    return any(part.goes_on for part in entry.parts)


def leave_out(entry: Entry) -> None:
    next(part for part in entry.parts if part.goes_on).goes_on = False


def enlarge(entry: Entry) -> None:
    entry.parts[-1].value += 1


def repeat(entry: Entry) -> None:
    entry.parts.append(entry.parts[-1])


def drop(entry: Entry) -> None:
    entry.parts.pop()


def trim_deeper(entry: Entry) -> None:
    axis, end = entry.trims[0]
    entry.trims[0] = axis, end - 1


def drop_all(entry: Entry) -> None:
    entry.parts.clear()


def evaluate(entry: Entry) -> None:
    entry.action, entry.parts = 255, []


def trim_twice_as_far(entry: Entry) -> None:
    entry.trims = [(0, 99)]


def no_axis(entry: Entry) -> None:
    entry.action = 9


@pytest.mark.parametrize(
    ("wanted", "change", "reason"),
    [
        (goes_on, leave_out, "block 1: box 0 has a part left out with the bound"),
        (by_size, enlarge, "has parts that do not add up to its range"),
        (by_size, repeat, "has parts that do not add up to its range"),
        (by_size, drop, "has parts that do not add up to its range|is split into one part"),
        (by_loop, repeat, "has an innermost loop twice"),
        (by_loop, drop, "lacks an innermost loop"),
        (lambda entry: entry.trims, trim_deeper, "is trimmed of what may fit"),
        (goes_on, drop_all, "has no parts, but may have mappings"),
        (by_size, evaluate, "is to be evaluated, but has several sizes"),
        (by_size, trim_twice_as_far, "is trimmed beyond its range"),
        (by_size, no_axis, "is split by no axis"),
    ],
)
def test_changed_boxes_are_refused(tmp_path, capsys, wanted, change, reason) -> None:
    content = tiny().file(once(wanted, change))
    line = refusal(tmp_path, capsys, content)
    assert any(each in line for each in reason.split("|")), line


def test_a_leaf_that_is_left_out_is_refused(tmp_path, capsys) -> None:
    writer = tiny()
    leaves: list[bytes] = []
    writer.content(lambda entry, box: leaves.append(box.tobytes()) if entry.action == 255 else None)
    assert leaves

    def edit(entry: Entry, box: Table) -> None:
        for part in entry.parts:
            part.goes_on &= part.box.tobytes() != leaves[-1]

    assert "has a part left out with the bound" in refusal(tmp_path, capsys, writer.file(edit))


def headed(writer: Writer, **changes: object) -> bytes:
    """Return a certificate with another header."""
    line, rest = content_of(writer).split(b"\n", 1)
    header = json.loads(line) | changes
    return gzip.compress(json.dumps(header, sort_keys=True).encode() + b"\n" + rest)


def test_changed_claims_are_refused(tmp_path, capsys) -> None:
    writer = tiny()
    header = writer.header
    best, point = header["optimum"].values()
    other = [0] * len(point)
    hardware, layer = header["hardware"], header["layer"]
    with_value = {"value": best * 0.9, "point": point}
    extents = layer["extents"] | {"M": 5}
    energy = {"name": "energy", "factors": ["energy_nj"]}
    for changes, reason in (
        ({"optimum": with_value, "bound": best * 0.9}, "the optimum's point costs"),
        ({"optimum": {"value": best, "point": other}}, "the optimum's point costs"),
        ({"optimum": {"value": best, "point": [*point[:-1], 99]}}, "no vector of the space"),
        ({"bound": best * 1.01}, "is above the optimum"),
        ({"bound": None}, "is above the optimum"),
        ({"optimum": None, "bound": None}, "has a part left out with the bound"),
        ({"hardware": hardware | {"noc_bw": 2}}, "the optimum's point costs"),
        ({"hardware": hardware | {"l1_bytes": 40}}, "is trimmed of what may fit"),
        ({"hardware": hardware | {"num_pes": -1}}, "num_pes is -1"),
        ({"layer": layer | {"extents": extents}}, "the optimum's point costs"),
        ({"layer": layer | {"operator": "FFT"}}, "unknown operator 'FFT'"),
        ({"objective": energy}, "the optimum's point costs"),
        ({"objective": energy | {"name": "edp"}}, "objective 'edp' is no product of energy_nj"),
        ({"tiles": "divisors"}, "no vector of the space"),
        ({"format": "maestro-env certificate 2"}, "format is 'maestro-env certificate 2'"),
        ({"more": 1}, "the header has"),
        ({"bound": 0}, "bound is 0; allowed: numbers above 0"),
        ({"hardware": hardware | {"name": "cloud"}}, "called cloud, and has other figures"),
        ({"layer": layer | {"name": "resnet18_l2"}}, "layer has"),
        ({"bound": math.nan}, "bound is nan; allowed: numbers above 0"),
    ):
        assert reason in refusal(tmp_path, capsys, headed(writer, **changes)), changes


def test_a_bound_above_the_proven_one_is_refused(tmp_path, capsys) -> None:
    writer = tiny(0.7)
    assert check_passes(tmp_path, gzip.compress(content_of(writer)))
    capsys.readouterr()
    content = headed(writer, bound=writer.header["optimum"]["value"])
    assert "has a part left out with the bound" in refusal(tmp_path, capsys, content)


def test_a_mapping_below_the_optimum_is_refused(tmp_path, capsys) -> None:
    writer = Writer(TINY, EDP)
    writer.bound *= 1.01
    points = TINY.space.sample(500, np.random.default_rng(0))
    values, _ = TINY.score(points, EDP)
    best = writer.header["optimum"]["value"]
    worse = int(np.argmin(np.where(values > best, values, np.inf)))
    claim = {"value": float(values[worse]), "point": points[worse].tolist()}
    content = headed(writer, optimum=claim)
    assert "below the claim" in refusal(tmp_path, capsys, content)


def check_passes(tmp_path: Path, content: bytes) -> bool:
    path = tmp_path / "true.gz"
    path.write_bytes(content)
    return verify([str(path)]) == 0


def test_missing_and_odd_roots_are_refused(tmp_path, capsys) -> None:
    writer = tiny()
    roots = writer.roots()
    for each, reason in (
        (roots[1:], "root M/M of parallel loops is missing"),
        ([*roots, roots[0]], "root M/M is there twice"),
        ([*roots, (7, 0)], "root (7)/M is no pair of parallel loops"),
    ):
        assert reason in refusal(tmp_path, capsys, writer.file(roots=each))


def test_damaged_streams_are_refused(tmp_path, capsys) -> None:
    content = content_of(tiny())
    whole_file = gzip.compress(content)
    header = content.index(b"\n") + 1
    for each, reason in (
        (gzip.compress(content[:-1]), "the stream ends in the middle"),
        (gzip.compress(content[:header]), "the stream ends in the middle"),
        (gzip.compress(content + b"\0"), "the stream goes on after its end"),
        (whole_file[:-20], "no whole gzip file"),
        (whole_file[:-6] + bytes(6), "no gzip file: CRC check failed"),
        (whole_file + b"more", "no gzip file"),
        (content, "no gzip file"),
        (b"", "the header is no line"),
        (gzip.compress(b"{" * 10**6), "the header is no line of at most 65,536 bytes"),
        (gzip.compress(b"[" * 60_000 + b"\n"), "the header is no JSON"),
        (gzip.compress(b"3\n"), "format is 3"),
    ):
        assert reason in refusal(tmp_path, capsys, each)
    missing = tmp_path / "none.gz"
    assert verify([str(missing)]) == 1
    assert "No such file" in capsys.readouterr().err
    assert verify([]) == 2


@given(st.data())
def test_no_change_of_a_byte_is_a_traceback(tmp_path_factory, data) -> None:
    content = bytearray(content_of(tiny()))
    header = content.index(b"\n") + 1
    begin, stop = data.draw(st.sampled_from([(0, header), (header, len(content))]))
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(begin, stop - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("c") / "c.gz"
    path.write_bytes(gzip.compress(bytes(content)))
    with suppress(CertificateError):
        check(path)


def test_a_huge_space_is_refused_at_once(tmp_path, capsys) -> None:
    writer = tiny()
    extents = writer.header["layer"]["extents"] | {"M": 2**31 - 1}
    content = headed(writer, layer=writer.header["layer"] | {"extents": extents})
    assert "choices; allowed: 131,072" in refusal(tmp_path, capsys, content)
