"""Records and directories that were changed, left half-made, or made by other versions."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import audit
from compare_helpers import LAYER, cell, compare, tables
from run_helpers import contents, edit, load, run, trace_rows

from maestro_env.experiments.shell.files import RecordError, check_same, replacing, write_text

FLAGS = (f"--layer={LAYER}", "--objective=latency", "--mapper=random", "--seeds=2")


@pytest.fixture(scope="module")
def finished_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "out"
    assert run(out, *FLAGS, samples=50) == 0
    return out


@pytest.fixture
def out(finished_once: Path, tmp_path: Path) -> Path:
    """A run directory to damage."""
    out = tmp_path / "out"
    shutil.copytree(finished_once, out)
    return out


def refused(out: Path, capsys: pytest.CaptureFixture[str], *flags: str) -> str:
    """Return the one line with which resuming and auditing are refused; nothing is written."""
    before = contents(out)
    capsys.readouterr()
    assert run(out, *FLAGS, "--resume", *flags, samples=50) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert len(shown.err) < 1000
    assert str(out) in shown.err
    assert audit([str(out)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert contents(out) == before
    return shown.err


# --- Changes ------------------------------------------------------------------------------------


def swapped_rows(text: str) -> str:
    rows = text.splitlines(keepends=True)
    return "".join([rows[1], rows[0], *rows[2:]])


def test_all_damaged_records_are_told_at_once(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [cell(out, "random", 0), cell(out, "random", 1)]
    for path in paths:
        path.write_bytes(b"")
    capsys.readouterr()
    assert run(out, *FLAGS, "--resume", samples=50) == 2
    *damaged, error = capsys.readouterr().err.splitlines()
    for line, path in zip(damaged, paths, strict=True):
        assert line.startswith(f"damaged: cannot read {path}: ")
    assert error == "error: 2 records are damaged: delete them, and --resume runs them again"
    for path in paths:
        path.unlink()
    assert run(out, *FLAGS, "--resume", samples=50) == 0


def test_a_trace_with_two_rows_swapped_is_refused(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = cell(out, "random", 1).with_suffix(".trace.csv.gz")
    path.write_bytes(
        gzip.compress(swapped_rows(gzip.decompress(path.read_bytes()).decode()).encode())
    )
    line = refused(out, capsys)
    assert f"{path} does not fit it: it was changed; delete it, " in line
    path.unlink()
    assert f"cannot read {path}: No such file or directory" in refused(out, capsys)


# What a sound digest does not tell.
MISPLACED: dict[str, tuple[dict[str, Any], str]] = {
    "too few samples": ({"evaluations": 49}, "evaluations is 49, not 50"),
    "no point": ({"best_point": None}, ""),
    "short point": ({"best_point": [0]}, "points must be"),
    "bad point": ({"best_point": [10**6] * 11}, "is not in"),
    "other point": ({"best_point": [0] * 11}, "but the best is"),
    "another model": ({"improvements": [[1, 5.0]]}, "but the best is 5.0"),
    "no improvements": ({"improvements": None}, ""),
}


@pytest.mark.parametrize(("change", "message"), MISPLACED.values(), ids=MISPLACED)
def test_a_record_of_another_result_is_refused(
    out: Path, change: dict[str, Any], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = cell(out, "random", 1)
    if change.keys() <= load(path)["cell"].keys():
        change = {"cell": load(path)["cell"] | change}
    edit(path, lambda entry: entry.update(change), sealed=True)
    line = refused(out, capsys)
    assert line.startswith(f"error: {path} is not a result of random on ")
    assert message in line
    assert line.endswith("; delete it, and --resume runs it again\n")


@pytest.mark.parametrize(("fact", "other"), [("mapper", "ga"), ("seed", 7)])
def test_a_record_of_another_search_is_refused(
    out: Path, fact: str, other: object, capsys: pytest.CaptureFixture[str]
) -> None:
    path = cell(out, "random", 1)
    edit(path, lambda entry: entry["cell"].update({fact: other}), sealed=True)
    told = f"error: {path}: the run has cell {fact} = {other!r}, "
    assert refused(out, capsys).startswith(told)


def test_texts_are_shown_from_where_they_differ() -> None:
    ones, twos = "a: 1\n" * 50, "\nb: 2" * 50
    then, now = ({"chip": {"file": f"{ones}bw: {bits}{twos}"}} for bits in (64, 65))
    told = r"chip file = \.\.\.'bw: 64\\n.*, asked for \.\.\.'bw: 65\\n.*; resume it with"
    with pytest.raises(RecordError, match=told):
        check_same(Path("config.json"), then, now)


def test_a_failing_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def write_half() -> None:
        with replacing(path) as temporary:
            temporary.write_text("ne")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, synced = tmp_path / "file", []

    def sync(opened: int) -> None:
        synced.append((os.readlink(f"/proc/self/fd/{opened}"), path.exists()))

    monkeypatch.setattr(os, "fsync", sync)
    with replacing(path) as temporary:
        temporary.write_text("new")
    assert synced == [(str(temporary), False), (str(tmp_path), True)]


# --- Versions -----------------------------------------------------------------------------------


def test_every_record_names_what_made_it(out: Path) -> None:
    made = load(cell(out, "random", 0))["versions"]
    assert {"python", "numpy", "maestro-env", "commit", "processor"} <= set(made)


def test_resuming_under_another_commit_says_so(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(cell(out, "random", 0), lambda entry: entry["versions"].update(commit="abc"), sealed=True)
    capsys.readouterr()
    assert run(out, *FLAGS, "--resume", samples=50) == 0
    shown = capsys.readouterr().err
    assert shown.count("note: ") == 1
    assert "note: 1 of the searches: commit abc; now: commit " in shown
    assert load(cell(out, "random", 0))["versions"]["commit"] == "abc"


@pytest.mark.parametrize(
    ("old", "told"),
    [
        ("config.json", "an older version wrote it"),
        ("comparison.json", "has files but no config.json"),
    ],
)
def test_directories_of_older_versions_are_refused(
    tmp_path: Path, old: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "old"
    out.mkdir()
    (out / old).write_text(json.dumps({"config": {"samples": 50}, "hardware": {}}))
    assert told in refused(out, capsys)


# --- What a kill leaves -------------------------------------------------------------------------


@pytest.mark.parametrize("flags", [[], ["--resume"]], ids=["start", "resume"])
def test_a_directory_without_config_begins_anew(tmp_path: Path, flags: list[str]) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / ".config.json.4194399.tmp").write_text("{")
    assert run(out, *FLAGS, *flags, samples=50) == 0
    assert len(trace_rows(out)) == 101


def test_temporary_files_of_the_dead_are_removed_and_no_others(out: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    place = cell(out, "random", 0).parent
    host = socket.gethostname()
    gone = (f".0.json.{dead.pid}.tmp", f".0.json.{dead.pid}@{host}.tmp")
    kept = (f".0.json.{os.getpid()}@{host}.tmp", f".0.json.{dead.pid}@elsewhere.tmp", ".x.tmp")
    for name in (*gone, *kept):
        (place / name).touch()
    assert run(out, *FLAGS, "--resume", samples=50) == 0
    assert {path.name for path in place.glob(".*")} == set(kept)


# --- Names of any bytes -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["groups\n1.json", os.fsdecode(b"groups\xff.json"), "\x1b[31m.json"]
)
def test_file_names_of_any_bytes_leave_readable_files(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    groups, out, compared = tmp_path / name, tmp_path / "out", tmp_path / "compared"
    names = load_parameters()
    groups.write_text(json.dumps({"one": names[:5], "two": names[5:]}))
    mapper = f"marl:groups={groups}"
    assert (
        run(out, f"--layer={LAYER}", "--objective=latency", f"--mapper={mapper}", samples=40) == 0
    )
    header, *rows = trace_rows(out)
    assert [len(row) for row in rows] == [len(header)] * 40
    assert [row[2] for row in rows] == [str(index) for index in range(1, 41)]
    assert list(load(out / "summary.json")["mappers"]) == [mapper]
    assert compare(compared, f"--mappers={mapper}", samples=40, seeds=1) == 0
    for text in tables(compared).values():
        assert "\x1b" not in text.decode()
    assert audit([str(out)]) == 0
    shown = capsys.readouterr()
    assert "\x1b" not in shown.out + shown.err


def load_parameters() -> list[str]:
    from maestro_env.experiments.commands.compare import Config as CompareConfig
    from maestro_env.experiments.commands.compare import resolve

    (goal,) = resolve(CompareConfig(layers=LAYER, objectives="latency")).goals.values()
    return [parameter.name for parameter in goal.problem.space.parameters]


def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path: Path) -> None:
    link, target = tmp_path / "link", tmp_path / "target"
    target.write_text("old")
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
