"""Reading files that users name: a pipe is read, but not waited for if nothing is written to it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest

from maestro_env.accelerators.finding import find_hardware
from maestro_env.base.errors import HardwareError, NetworkError, TooLongError
from maestro_env.base.reading import open_bytes, open_text, read_bytes, read_text
from maestro_env.compat.rows import RowError, run_jsonl
from maestro_env.experiments.problems.labels import read_labels
from maestro_env.experiments.shell.files import RecordError, file_digest, read_csv, read_json
from maestro_env.mappers import make_mapper
from maestro_env.prior.file import PriorFileError, read_prior
from maestro_env.workloads.finding import find_network

ROOT = Path(__file__).parents[1]
# Longer than a pipe holds.
TEXT = "some text\n" * 20_000


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


@pytest.mark.parametrize(
    "read",
    [open_bytes, open_text, lambda path: read_bytes(path, 9), lambda path: read_text(path, 9)],
)
def test_a_pipe_without_a_writer_is_refused(read: Callable[[Path], object], pipe: Path) -> None:
    with pytest.raises(OSError, match="a pipe that nothing is written to"):
        read(pipe)


@pytest.mark.parametrize(
    ("suffix", "read", "error"),
    [
        (".safetensors", read_prior, PriorFileError),
        (".jsonl.gz", read_labels, RecordError),
        (".csv", read_csv, RecordError),
        (".csv", lambda path: find_network(str(path)), NetworkError),
        (".yaml", lambda path: find_network(str(path)), NetworkError),
        (".m", lambda path: find_network(str(path)), NetworkError),
        (".yaml", lambda path: find_hardware(str(path)), HardwareError),
        (".jsonl", lambda path: run_jsonl(path, path.with_name("out"), "exact"), RowError),
        (".jsonl.gz", lambda path: run_jsonl(path, path.with_name("out"), "exact"), RowError),
    ],
)
def test_readers_name_such_a_pipe_in_one_line(
    suffix: str, read: Callable[[Path], object], error: type[Exception], pipe: Path
) -> None:
    path = pipe.rename(pipe.with_name(f"pipe{suffix}"))
    with pytest.raises(error, match="pipe that nothing is written to") as refused:
        read(path)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)
    assert [each.name for each in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("read", [read_json, file_digest])
@pytest.mark.parametrize("what", ["/dev/zero", "pipe"])
def test_a_record_is_a_regular_file(
    what: str, read: Callable[[Path], object], pipe: Path, tmp_path: Path
) -> None:
    path = tmp_path / "record.json"
    path.symlink_to(what)
    with pytest.raises(RecordError, match=r"record\.json: it is not a regular file"):
        read(path)


def test_a_record_has_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    with path.open("wb") as file:
        file.truncate(2**30 + 1)
    with pytest.raises(RecordError, match="more than 1,073,741,824 bytes"):
        read_json(path)


def test_a_mapper_refuses_such_a_pipe(pipe: Path) -> None:
    with pytest.raises(PriorFileError, match="pipe that nothing is written to"):
        make_mapper(f"prior:file={pipe}").warning([])


def write(sink: int, delay: float) -> None:
    time.sleep(delay)
    with open(sink, "w") as file:
        file.write(TEXT)


@pytest.mark.parametrize("delay", [0.0, 0.3])
@pytest.mark.parametrize("named", [False, True])
def test_a_pipe_with_a_writer_is_read_to_its_end(named: bool, delay: float, pipe: Path) -> None:
    # What <(...) of a shell gives is a pipe without a name.
    source, sink = os.pipe()
    if named:
        os.close(source), os.close(sink)
        source = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        sink = os.open(pipe, os.O_WRONLY)
    writer = Thread(target=write, args=(sink, delay))
    writer.start()
    assert read_text(pipe if named else f"/dev/fd/{source}", len(TEXT)) == TEXT
    writer.join()
    os.close(source)


def test_a_pipe_has_a_limit_too() -> None:
    source, sink = os.pipe()
    os.write(sink, b"0123456789")
    with pytest.raises(TooLongError):
        read_bytes(f"/dev/fd/{source}", 9)
    os.close(source)
    os.close(sink)


@pytest.mark.parametrize(("given", "status"), [("some", 0), ("", 1)])
def test_standard_input_is_read(given: str, status: int) -> None:
    program = "from maestro_env.base.reading import read_text; print(read_text('/dev/stdin', 9))"
    told = subprocess.run(
        [sys.executable, "-c", program], input=given, capture_output=True, text=True, cwd=ROOT
    )
    assert (told.returncode, told.stdout.strip()) == (status, given)
