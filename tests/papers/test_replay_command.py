"""``maestro-env replay sample``: what it measures, keeps at Ctrl-C and refuses."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import replay as main

from maestro_env.experiments.papers.replay import sample
from maestro_env.experiments.shell.files import RecordError, write_text
from maestro_env.mappers.papers.replay.layouts import LAYOUTS, Replay

SMALL = ("sample", "--agents=2,3", "--capacity=300", "--batch=16", "--repeats=2")


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_table_and_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "new" / "times.csv"
    assert main([*SMALL, f"--samplers={','.join(sample.SAMPLERS)}", f"--csv={path}"]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert max(map(len, shown.out.splitlines())) <= 80
    rows = read(path)
    assert [(row["agents"], row["layout"], row["sampler"]) for row in rows] == [
        (agents, layout, sampler)
        for agents in "23"
        for layout in LAYOUTS
        for sampler in sample.SAMPLERS
    ]
    for row in rows:
        assert (row["entries"], row["batch"], row["repeats"]) == ("300", "16", "2")
        assert 0 < float(row["cpu_ms"]) < 1000
    gib = {(row["agents"], row["layout"]): float(row["replay_gib"]) for row in rows}
    # 3 agents that see 16 numbers: observations twice, actions, rewards and dones.
    assert gib["3", "joint"] * 2**30 == 300 * 4 * (2 * 48 + 15 + 6)
    assert gib["3", "joint2"] < gib["3", "joint"] < gib["3", "list"]
    table = [line.split() for line in shown.out.splitlines() if re.match("[23]  +[a-z]", line)]
    assert [line[:3] for line in table] == [
        [row["agents"], row["layout"], row["sampler"]] for row in rows
    ]
    ratio = float(rows[5]["wall_ms"]) / float(rows[0]["wall_ms"])
    assert float(table[5][5]) == pytest.approx(ratio, rel=0.01)
    assert table[0][5:7] == ["1.00", "1.00"]


def test_a_round_reads_a_batch_for_each_agent_or_one_for_all(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gather, read = Replay.gather, []

    def counted(replay: Replay, rows: Any) -> Any:
        # A ring is full, and what is read of it is there.
        assert len(replay) == replay.capacity == 300
        read.append(len(rows))
        return gather(replay, rows)

    monkeypatch.setattr(Replay, "gather", counted)
    flags = ("sample", "--agents=5", "--capacity=300", "--batch=13", "--repeats=2")
    counts = {"uniform": [13] * 15, "neighbour_exact": [13] * 15, "shared": [13] * 3}
    for sampler, wanted in counts.items():
        read.clear()
        assert main([*flags, "--layouts=joint", f"--samplers={sampler}"]) == 0
        assert read == wanted
    read.clear()
    assert main([*flags, "--layouts=joint", "--samplers=neighbour_literal"]) == 0
    assert all(13 <= each < 13 + 6 for each in read)
    assert "/ list" in capsys.readouterr().out


def test_ctrl_c_keeps_what_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, times, done = tmp_path / "times.csv", sample._times, list[object]()

    def interrupted(*arguments: Any) -> Any:
        if done:
            raise KeyboardInterrupt
        done.append(None)
        return times(*arguments)

    monkeypatch.setattr(sample, "_times", interrupted)
    assert main([*SMALL, "--samplers=uniform", f"--csv={path}"]) == 130
    shown = capsys.readouterr()
    assert shown.err.splitlines() == ["interrupted: 1 rows were measured"]
    assert [row["layout"] for row in read(path)] == ["list"]
    assert len(re.findall(r"^2 +list +uniform", shown.out, re.MULTILINE)) == 1


@pytest.mark.parametrize("layout", LAYOUTS)
def test_more_than_the_memory_is_refused_with_what_fits(
    layout: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sample, "_times", lambda *_: [])
    flags = ["sample", "--agents=3,2", f"--layouts=joint2,{layout}", "--memory-gib=0.01"]
    assert main([*flags, "--capacity=100000"]) == 2
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 1)
    assert f"{layout} with 3 agents takes 0." in told.err
    most = int(re.findall(r"--capacity (\d+) fits", told.err)[0])
    assert main([*flags, f"--capacity={most}"]) == 0
    assert main([*flags, f"--capacity={most + 1}"]) == 2


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["sampel"], "unknown action 'sampel': did you mean sample? allowed: profile, sample"),
        (["sample", "--agents=3,none"], "--agents: 'none'; allowed: integers from 1 to 1000"),
        (["sample", "--agents=0"], "--agents: '0'; allowed: integers from 1 to 1000"),
        (["sample", "--layouts=joint,rows"], "unknown layout of a replay 'rows': "),
        (["sample", "--samplers=neighbour"], "did you mean neighbour_"),
        (["sample", "--dtype=int8"], "allowed: float16, float32"),
    ],
)
def test_bad_flags_are_refused(
    flags: list[str], message: str, assert_refused: Callable[..., None]
) -> None:
    assert_refused(main, flags, message)


def test_directories_and_pipes_are_no_file_of_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (tmp_path, pipe):
        assert main(["sample", "--agents=2", f"--csv={path}"]) == 2
        assert "it is no regular file; give another name" in capsys.readouterr().err
    assert pipe.is_fifo()
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    assert main(["sample", "--agents=2", f"--csv={circle}"]) == 2
    assert "its links lead in a circle" in capsys.readouterr().err


def test_a_file_below_a_file_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RecordError, match=r"cannot write .*: Not a directory"):
        write_text(tmp_path / "file" / "below", "text")
