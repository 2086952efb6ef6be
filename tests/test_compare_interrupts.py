"""Comparisons that are killed or interrupted, and what is left of their processes."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from pathlib import Path

import pytest
from commands import compare as main
from compare_helpers import LAYER, cells, compare, tables
from run_helpers import start, wait_for

# Enough work to be worth processes.
FLAGS = ("--mappers=ga_log,ga,random", "--jobs=2")
SAMPLES, SEEDS = 8000, 16
SEARCHES = 3 * SEEDS


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Tables of an uninterrupted comparison."""
    out = tmp_path_factory.mktemp("whole") / "out"
    assert compare(out, *FLAGS[:1], samples=SAMPLES, seeds=SEEDS) == 0
    return tables(out)


def start_one(out: Path) -> subprocess.Popen[str]:
    flags = [f"--out={out}", f"--layers={LAYER}", "--objectives=latency"]
    return start("compare", *flags, f"--samples={SAMPLES}", f"--seeds={SEEDS}", *FLAGS)


def session(leader: int) -> set[int]:
    """Processes of a session that are alive."""
    alive = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == leader and fields[0] != "Z":
            alive.add(int(path.parent.name))
    return alive


@pytest.mark.slow
def test_killed_and_resumed_the_tables_are_the_same(
    tmp_path: Path, whole: dict[str, bytes]
) -> None:
    out = tmp_path / "out"
    with start_one(out) as process:
        wait_for(lambda: len(cells(out)) >= SEARCHES // 4 and len(session(process.pid)) >= 3)
        process.kill()
        # None of its processes outlives it.
        wait_for(lambda: not session(process.pid))
    assert process.returncode == -signal.SIGKILL
    kept = {path: path.read_bytes() for path in cells(out)}
    assert SEARCHES // 4 <= len(kept) < SEARCHES
    assert compare(out, *FLAGS[:1], "--resume", samples=SAMPLES, seeds=SEEDS) == 0
    assert tables(out) == whole
    assert {path: path.read_bytes() for path in kept} == kept


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_finished(tmp_path: Path, whole: dict[str, bytes]) -> None:
    out = tmp_path / "out"
    with start_one(out) as process:
        wait_for(lambda: len(cells(out)) >= 3)
        # As a terminal does, which sends it to every process of a command.
        os.killpg(process.pid, signal.SIGINT)
        assert process.stderr is not None
        lines = process.stderr.read().splitlines()
    assert process.returncode == 130
    wait_for(lambda: not session(process.pid))
    assert "Traceback" not in "".join(lines)
    assert lines[-1].startswith(f"interrupted: everything finished is in {out}; continue with: ")
    assert set(tables(out)) == set(whole)
    assert len(cells(out)) < SEARCHES
    assert not [*out.rglob("*.lock")]
    command = lines[-1].partition("maestro-env compare ")[2]
    assert main(shlex.split(command)) == 0
    assert tables(out) == whole
