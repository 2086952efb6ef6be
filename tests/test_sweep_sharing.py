"""Sweeps that several processes and machines work on, and that lose some of them."""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from commands import sweep as main
from run_helpers import PATIENCE, ended, start, wait_for
from sweep_helpers import CONFIG, chunks, sweep, tables

SHORT = CONFIG.replace("num_pes: [32, 64]", "num_pes: [32]").replace("seeds: 3", "seeds: 2")
# Enough work that a process can be killed in the middle of it.
LONG = SHORT.replace("samples: 60", "samples: 600")

# A stand-in for Slurm: every task of the array, two at a time.
SBATCH = """#!/bin/bash
set -e
array=$(sed -n 's/^#SBATCH --array=1-//p' "$1")
log=$(sed -n 's/^#SBATCH --output=//p' "$1" | tr -d "'")
export SLURM_ARRAY_TASK_ID
for ((SLURM_ARRAY_TASK_ID = 1; SLURM_ARRAY_TASK_ID <= array; SLURM_ARRAY_TASK_ID++)); do
    bash "$1" > "${log/\\%a/$SLURM_ARRAY_TASK_ID}" 2>&1 &
    if ((SLURM_ARRAY_TASK_ID % 2 == 0)); then wait; fi
done
wait
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Tables of the long sweep by one process."""
    out = tmp_path_factory.mktemp("whole") / "out"
    assert sweep(out, text=LONG) == 0
    return tables(out)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Tables of the short sweep by one process."""
    out = tmp_path_factory.mktemp("alone") / "out"
    assert sweep(out, text=SHORT) == 0
    return tables(out)


@pytest.mark.slow
def test_two_processes_share_a_directory_and_one_is_killed(
    tmp_path: Path, whole: dict[str, bytes]
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    config = tmp_path / "out.yaml"
    config.write_text(LONG)
    line = ("sweep", str(config), f"--out={out}", "--resume")
    first, second = start(*line), start(*line)
    wait_for(lambda: len(chunks(out)) >= 5)
    first.kill()
    first.communicate()
    kept = {path: path.read_bytes() for path in chunks(out)}
    ended(second)
    assert {path: path.read_bytes() for path in kept} == kept
    # The killed one may have left the claim of a chunk whose record it had written.
    assert sweep(out, "--resume", text=LONG) == 0
    assert tables(out) == whole
    assert not list(out.rglob("*.lock"))
    assert not list(out.rglob(".*.tmp"))


def test_shards_of_two_machines_are_put_together(
    tmp_path: Path, alone: dict[str, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    outs = [tmp_path / "first", tmp_path / "second"]
    for number, out in enumerate(outs, 1):
        assert sweep(out, f"--shard={number}/2", text=SHORT) == 0
        assert "the tables follow when all are" in capsys.readouterr().out
        assert not (out / "results.csv").exists()
    names = [{path.relative_to(out) for path in chunks(out)} for out in outs]
    assert not names[0] & names[1]
    shutil.copytree(outs[1] / "chunks", outs[0] / "chunks", dirs_exist_ok=True)
    assert sweep(outs[0], "--resume", text=SHORT) == 0
    assert len(chunks(outs[0])) == len(names[0] | names[1])
    assert tables(outs[0]) == alone


@pytest.mark.slow
def test_the_last_shard_in_a_shared_directory_writes_the_tables(
    tmp_path: Path, whole: dict[str, bytes]
) -> None:
    out = tmp_path / "out"
    assert sweep(out, "--shard=2/3", text=LONG) == 0
    assert sweep(out, "--shard=1/3", "--resume", text=LONG) == 0
    assert not (out / "results.csv").exists()
    assert sweep(out, "--shard=3/3", "--resume", text=LONG) == 0
    assert tables(out) == whole


@pytest.mark.slow
def test_a_slurm_array_works_on_one_directory(
    tmp_path: Path, whole: dict[str, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out of mine"
    assert sweep(out, "--slurm=4", text=LONG) == 0
    assert not chunks(out)
    submit = capsys.readouterr().out.splitlines()[-1].partition("start it with: ")[2]
    stand_in = tmp_path / "bin" / "sbatch"
    stand_in.parent.mkdir()
    stand_in.write_text(SBATCH)
    stand_in.chmod(0o755)
    path = {**os.environ, "PATH": f"{stand_in.parent}:{os.environ['PATH']}"}
    subprocess.run(shlex.split(submit), env=path, check=True, timeout=PATIENCE)
    logs = [(out / f"slurm-{task}.txt").read_text() for task in range(1, 5)]
    assert all("Traceback" not in log for log in logs)
    assert tables(out) == whole
    assert not list(out.rglob("*.lock"))


@pytest.mark.slow
def test_a_full_disk_loses_nothing(
    tmp_path: Path,
    alone: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, written = tmp_path / "out", []

    def write(path: Path, text: str, encoding: str) -> None:
        written.append(path)
        with path.open("w", encoding=encoding) as file:
            file.write(text[:100] if len(written) > 5 else text)
        if len(written) > 5:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr("maestro_env.experiments.shell.files.Path.write_text", write)
        config = tmp_path / "config.yaml"
        with config.open("w") as file:
            file.write(SHORT)
        assert main([str(config), f"--out={out}"]) == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith(f"error: cannot write {out}/chunks/")
    assert line.endswith("No space left on device")
    # The first file is the config.
    assert len(chunks(out)) == 4
    assert not list(out.rglob(".*.tmp"))
    assert main([str(config), f"--out={out}", "--resume"]) == 0
    assert tables(out) == alone


def test_a_mapper_that_fails_leaves_the_others(
    tmp_path: Path,
    alone: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("no luck")

    monkeypatch.setattr("maestro_env.mappers.random.LogRandomMapper.search", fail)
    out = tmp_path / "out"
    assert sweep(out, text=SHORT) == 1
    told = capsys.readouterr()
    assert "failed: random_log" in told.err
    assert "random_log on alexnet_l0, num_pes=32" in told.err
    assert "ValueError: no luck" in told.err
    assert "36 of 72 cells" in told.out
    monkeypatch.undo()
    assert sweep(out, "--resume", text=SHORT) == 0
    assert tables(out) == alone
