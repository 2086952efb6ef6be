"""The file of a prior: what is written is read, and nothing else is."""

from __future__ import annotations

import json
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prior_helpers import random_file

from maestro_env.evaluation.observations_and_rewards import CONTEXT
from maestro_env.prior.file import (
    MOST_BYTES,
    SHIPPED,
    PriorFile,
    PriorFileError,
    from_bytes,
    read_prior,
)

SMALL = PriorFile(
    {"a": np.array([[1.5, -2.0]], np.float32), "b": np.array([3.0], np.float32)},
    {"layers": 3},
    "pretrain",
    dict.fromkeys(CONTEXT, (0.25, 0.5)),
)
DATA = SMALL.to_bytes()


def split(data: bytes) -> tuple[dict[str, object], bytes]:
    end = 8 + int.from_bytes(data[:8], "little")
    return json.loads(data[8:end]), data[end:]


def joined(header: object, arrays: bytes) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + arrays


def assert_same(one: PriorFile, other: PriorFile) -> None:
    assert one.arrays.keys() == other.arrays.keys()
    for name, array in one.arrays.items():
        np.testing.assert_array_equal(array, other.arrays[name], strict=True)
    assert (one.data_card, one.command, one.ranges) == (
        other.data_card,
        other.command,
        other.ranges,
    )
    assert one.digest == other.digest


def test_what_is_written_is_read() -> None:
    for prior in (SMALL, random_file(), random_file(1)):
        assert_same(from_bytes(prior.to_bytes(), "it"), prior)
    assert random_file().to_bytes() == random_file().to_bytes()
    assert random_file().digest != random_file(1).digest


def test_every_part_changes_the_digest() -> None:
    others = [
        random_file(command="another"),
        random_file(data_card={}),
        random_file(ranges=dict.fromkeys(CONTEXT, (0.0, 0.5))),
        random_file(arrays={**random_file().arrays, "more": np.ones(1, np.float32)}),
    ]
    assert len({random_file().digest, *(each.digest for each in others)}) == 5


def test_safetensors_reads_the_same(tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors")
    numpy = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "prior.safetensors"
    prior = random_file()
    path.write_bytes(prior.to_bytes())
    read = numpy.load_file(path)
    assert read.keys() == prior.arrays.keys()
    for name, array in prior.arrays.items():
        np.testing.assert_array_equal(read[name], array, strict=True)
    with safetensors.safe_open(path, "np") as file:
        texts = file.metadata()
    assert texts["digest"] == prior.digest
    written = numpy.save({name: np.asarray(each) for name, each in prior.arrays.items()}, texts)
    assert_same(from_bytes(written, "theirs"), prior)


def test_the_shipped_prior_is_read_from_its_file() -> None:
    prior = read_prior(SHIPPED)
    assert os.path.getsize(SHIPPED) <= MOST_BYTES
    assert prior.to_bytes() == SHIPPED.read_bytes()


@given(st.data())
def test_a_changed_byte_is_noticed_or_without_effect(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(DATA) - 1))
    byte = data.draw(st.integers(0, 255))
    refused_or_same(DATA[:at] + bytes([byte]) + DATA[at + 1 :])


@given(
    st.lists(st.tuples(st.integers(0, len(DATA)), st.binary(max_size=9)), min_size=1, max_size=4)
)
def test_spliced_bytes_are_noticed_or_without_effect(splices: list[tuple[int, bytes]]) -> None:
    data = DATA
    for at, piece in splices:
        data = data[:at] + piece + data[at + len(piece) // 2 :]
    refused_or_same(data)


def refused_or_same(data: bytes) -> None:
    try:
        found = from_bytes(data, "the prior x")
    except PriorFileError:
        return
    assert_same(found, SMALL)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


@given(st.sampled_from(["a", "b", "c", "__metadata__"]), JSON)
def test_any_entry_of_a_header_is_read_or_refused(name: str, entry: object) -> None:
    header, arrays = split(DATA)
    refused_or_same(joined(header | {name: entry}, arrays))


@given(st.sampled_from(["schema", "data_card", "command", "ranges", "digest", "more"]), JSON)
def test_any_text_of_metadata_is_read_or_refused(name: str, text: object) -> None:
    for each in (text, json.dumps(text)):
        refused_or_same(with_text(name, each))


def test_no_beginning_of_a_file_is_one() -> None:
    for end in range(len(DATA)):
        with pytest.raises(PriorFileError):
            from_bytes(DATA[:end], "it")


def with_text(name: str, text: object) -> bytes:
    header, arrays = split(DATA)
    header["__metadata__"][name] = text
    return joined(header, arrays)


def with_entry(**changes: object) -> bytes:
    header, arrays = split(DATA)
    header["a"] |= changes
    return joined(header, arrays)


def with_number(number: float) -> bytes:
    return DATA[:-4] + np.float32(number).tobytes()


def twice(name: str) -> bytes:
    header, arrays = split(DATA)
    text = json.dumps(header)
    entry = json.dumps(header[name])
    return joined((text[:-1] + f", {json.dumps(name)}: {entry}}}").encode(), arrays)


def without(*names: str) -> bytes:
    header, arrays = split(DATA)
    part = header
    for name in names[:-1]:
        part = part[name]
    del part[names[-1]]
    return joined(header, arrays)


def changed_range(pair: object) -> bytes:
    return with_text("ranges", json.dumps(dict.fromkeys(CONTEXT, pair)))


NO_FILE = "it is not a safetensors file, or its end is missing"
REFUSED: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", NO_FILE),
    "a header of 2^60 bytes": ((2**60).to_bytes(8, "little") + b"{}", NO_FILE),
    "a header of 2^64-1 bytes": (b"\xff" * 8 + DATA[8:], NO_FILE),
    "an empty header": (joined(b"", b""), NO_FILE),
    "a pickle": (b"\x80\x04\x95\x10\x00\x00\x00\x00" + b"q" * 40, NO_FILE),
    "no JSON": (joined(b"{'a'}", b""), "property name"),
    "no UTF-8": (joined(b'{"\xff": 1}', b""), "can't decode"),
    "no object": (joined([1, 2], b""), r"'?\[1, 2\]'? is not a JSON object"),
    "a deep header": (joined(b"[" * 100_000, b""), "nested too deeply"),
    "a long integer": (joined(b'{"a": ' + b"9" * 5000 + b"}", b""), "4300 digits"),
    "a foreign file": (without("__metadata__"), "schema is None; allowed: maestro-env/prior/1"),
    "a newer file": (with_text("schema", "maestro-env/prior/2"), "schema is 'maestro-env/prior/2'"),
    "no text of metadata": (joined({"__metadata__": 5}, b""), "attribute"),
    "no digest": (without("__metadata__", "digest"), "'digest' is missing"),
    "no command": (without("__metadata__", "command"), "'command' is missing"),
    "no data card": (without("__metadata__", "data_card"), "'data_card' is missing"),
    "no ranges": (without("__metadata__", "ranges"), "'ranges' is missing"),
    "another digest": (with_text("digest", "0" * 64), "does not fit its digest: it was changed"),
    "a digest that is no text": (with_text("digest", None), "does not fit its digest"),
    "another command": (with_text("command", "other"), "does not fit its digest"),
    "another data card": (with_text("data_card", '{"layers": 4}'), "does not fit its digest"),
    "a data card that is a list": (with_text("data_card", "[1]"), "is not a JSON object"),
    "a data card with NaN": (with_text("data_card", '{"x": NaN}'), "NaN is not a number"),
    "an infinite data card": (
        with_text("data_card", '{"x": -Infinity}'),
        "-Infinity is not a number",
    ),
    "another range": (changed_range([0.25, 0.75]), "does not fit its digest"),
    "a range upside down": (changed_range([0.5, 0.25]), "the range of 'extent_N' is"),
    "a range beyond 1": (changed_range([0.5, 1.5]), "the range of 'extent_N' is"),
    "a range of texts": (changed_range(["0", "1"]), "the range of 'extent_N' is"),
    "a range of booleans": (changed_range([False, True]), "the range of 'extent_N' is"),
    "a range of three": (changed_range([0, 0.5, 1]), "too many values"),
    "other contexts": (with_text("ranges", '{"extent_N": [0, 1]}'), "with other contexts"),
    "a type of twice the size": (with_entry(dtype="F64"), "'a' is of type 'F64', not F32"),
    "integers": (with_entry(dtype="I32"), "'a' is of type 'I32', not F32"),
    "a wrong shape": (with_entry(shape=[3]), "'a' is not where it should be"),
    "an empty array": (with_entry(shape=[0, 2]), r"'a' has the shape \[0, 2\]"),
    "a negative shape": (with_entry(shape=[-1, -2]), r"'a' has the shape \[-1, -2\]"),
    "a shape of booleans": (with_entry(shape=[True, 2]), r"'a' has the shape \[True, 2\]"),
    "a shape of fractions": (with_entry(shape=[1.0, 2]), r"'a' has the shape \[1.0, 2\]"),
    "no list as a shape": (with_entry(shape=2), "'int' object is not iterable"),
    "a huge shape": (with_entry(shape=[2**60, 2**60]), "'a' is not where it should be"),
    "an array over another": (with_entry(data_offsets=[4, 12]), "not where it should be"),
    "an array beyond the end": (with_entry(data_offsets=[8, 16]), "not where it should be"),
    "offsets that are texts": (with_entry(data_offsets=["0", "8"]), "not supported"),
    "no offsets": (without("a", "data_offsets"), "'data_offsets' is missing"),
    "bytes of no array": (DATA + b"\0\0\0\0", "4 bytes are of no array"),
    "no array where bytes are": (without("b"), "4 bytes are of no array"),
    "an array twice": (twice("a"), "'a' is there twice"),
    "metadata twice": (twice("__metadata__"), "'__metadata__' is there twice"),
    "not a number": (with_number(np.nan), "array 'b' has entries beyond 10000, or"),
    "infinity": (with_number(-np.inf), "array 'b' has entries beyond 10000, or"),
    "another number": (with_number(4.0), "does not fit its digest"),
    "too long": (DATA + bytes(MOST_BYTES), "more than 5,000,000 bytes"),
}


@pytest.mark.parametrize(("data", "message"), REFUSED.values(), ids=REFUSED)
def test_what_holds_no_prior_is_refused(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "some.safetensors"
    path.write_bytes(data)
    with pytest.raises(PriorFileError, match=message) as refused:
        read_prior(path)
    text = str(refused.value)
    assert str(path) in text
    assert "\n" not in text
    assert text.endswith(
        "give the file that maestro-env pretrain wrote, or none for the shipped one"
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path / "missing", "No such file"),
        (lambda path: path, "Is a directory"),
        (lambda path: "nul\0byte", "null byte"),
        (lambda path: "/dev/zero", "more than 5,000,000 bytes"),
    ],
)
def test_what_cannot_be_read_is_named(
    make: Callable[[Path], Path | str], message: str, tmp_path: Path
) -> None:
    with pytest.raises(PriorFileError, match=f"cannot read the prior .*{message}"):
        read_prior(make(tmp_path))


@pytest.mark.parametrize("length", [2**60, 2**64 - 1, 10**9])
def test_a_claim_takes_no_memory(length: int) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(PriorFileError):
            from_bytes(length.to_bytes(8, "little") + b"{}", "it")
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"arrays": {"a": np.array([np.nan], np.float32)}}, "no numbers"),
        ({"arrays": {"a": np.array([1.0])}}, "of type 'float64', not F32"),
        ({"arrays": {"a": np.ones((0,), np.float32)}}, "shape"),
        ({"arrays": {"a": np.ones(2_000_000, np.float32)}}, "allowed: 5,000,000"),
        ({"ranges": {}}, "with other contexts"),
    ],
)
def test_what_could_not_be_read_is_not_written(changes: dict[str, object], message: str) -> None:
    with pytest.raises(PriorFileError, match=message):
        random_file(**changes).to_bytes()
