"""Programs that search: whatever they do, they end in time, and nothing is left of them."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from run_helpers import wait_for

from maestro_env.experiments.commands.benchmark.methods import Method, Searches
from maestro_env.experiments.commands.benchmark.program import ProgramError, TimedOutError
from maestro_env.experiments.problems.splits import find_problems
from maestro_env.experiments.search.searches import UnspentError

BEGINS = """
import json, os, signal, subprocess, sys, time
WAITS = [sys.executable, "-c", "import time; time.sleep(99)", sys.argv[0]]
def ask(count=1):
    print(json.dumps({"ask": [zeros] * count}), flush=True)
def problem():
    global zeros
    zeros = [0] * len(json.loads(sys.stdin.readline())["parameters"])
"""
PARENT = """
import sys
from maestro_env.experiments.commands.benchmark.program import Program
from maestro_env.base.parallelism import ctrl_c_held_back
with ctrl_c_held_back(), Program(sys.argv[1:], 60) as program:
    print(program.line().decode(), end="", flush=True)
    program.line()
"""


def command(place: Path, program: str) -> list[str]:
    """Write a program, and return what starts it."""
    path = place / "program.py"
    path.write_text(BEGINS + program)
    return [sys.executable, "-S", str(path)]


def left(place: Path) -> list[Path]:
    """Return the processes that have a path in a directory among their arguments."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # It has ended.
            found += [path] if str(place).encode() in path.read_bytes() else []
    return found


def search(
    place: Path, program: str, seconds: float = 0.3, until: int | None = None, samples: int = 30
) -> dict[str, Any]:
    """Return what a program finds on the first problem."""
    held = next(iter(find_problems("tasks", None, None).values()))[:1]
    method = Method(f"program:{' '.join(command(place, program))}", seconds=seconds)
    return Searches(method, "tasks", "tasks", held, 0, samples, directory=place).search(
        held[0], until
    )


@pytest.mark.parametrize(
    "program",
    [
        "time.sleep(99)",
        "problem()\nwhile True: sys.stderr.write('')",
        "while True: time.sleep(0.01); os.write(1, b'[')",
        "os.kill(os.getpid(), signal.SIGSTOP)",
        "os.killpg(0, signal.SIGSTOP)",
        "os.kill(os.getppid(), signal.SIGSTOP); time.sleep(99)",
        "subprocess.Popen(WAITS); time.sleep(99)",
        "subprocess.Popen(WAITS, start_new_session=True); time.sleep(99)",
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); os.close(0); os.close(2); time.sleep(99)",
    ],
)
def test_a_program_that_says_nothing_is_cut_off(program: str, tmp_path: Path) -> None:
    with pytest.raises(TimedOutError, match=r"timed out; --seconds allows 0\.3 s"):
        search(tmp_path, program)
    assert not left(tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
def test_a_program_ends_with_the_keeper_that_it_kills(tmp_path: Path) -> None:
    # Its end is seen before its time is over, or not.
    with pytest.raises((TimedOutError, UnspentError)):
        search(tmp_path, "os.kill(os.getppid(), signal.SIGKILL); time.sleep(99)")
    wait_for(lambda: not left(tmp_path))


def test_children_that_keep_the_output_end_with_the_program(tmp_path: Path) -> None:
    found = search(tmp_path, "problem(); ask(3); subprocess.Popen(WAITS)", seconds=60)
    assert found["ended"] == 3
    assert "status" not in found
    assert not left(tmp_path)


def test_a_program_may_read_late_or_never(tmp_path: Path) -> None:
    # Both pipes are full after some 1,600 of these questions.
    late = "problem()\nfor _ in range(2000): ask()\nsys.stdin.read()"
    assert search(tmp_path, late, seconds=60, samples=2000)["ended"] is None


def test_complaints_are_shown_by_the_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    search(tmp_path, "problem(); ask(); os.write(2, b'\\x1b[2J\\xff one\\ntwo')", seconds=60)
    shown = capsys.readouterr().err.replace(sys.executable, "python")
    assert shown == "python: \\x1b[2J\\xff one\npython: two\n"


def test_a_vector_has_integers_alone(tmp_path: Path) -> None:
    for odd in ("False", "0.5", "'0'"):
        with pytest.raises(ProgramError, match=r"the vector is .*; allowed: integers"):
            search(tmp_path, f"problem(); zeros[1] = {odd}; ask()", seconds=60)


def test_a_line_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maestro_env.experiments.commands.benchmark.program._MOST_BYTES", 10_000)
    with pytest.raises(ProgramError, match=r"says '\[{37}...': "):
        search(tmp_path, "while True: os.write(1, b'[' * 1000)", seconds=60)


def test_what_was_found_in_time_counts_and_can_be_made_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program, found, seconds = "problem(); ask(3); ask(4); time.sleep(99)", {}, 0.3
    while found.get("ended") != 7:
        seconds *= 2  # A busy machine has not started it yet.
        with suppress(TimedOutError):
            found = search(tmp_path, program, seconds)
    assert found["status"] == "timed out"
    assert f"--seconds allows {seconds:g} s; 7 of 30 samples count" in capsys.readouterr().err
    assert search(tmp_path, program, seconds=60, until=7) == found


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_no_program_outlives_who_asks(how: signal.Signals, tmp_path: Path) -> None:
    started = "subprocess.Popen(WAITS), subprocess.Popen(WAITS, start_new_session=True)"
    shown = "print(signal.pthread_sigmask(signal.SIG_BLOCK, ()), flush=True)"
    asks = [sys.executable, "-c", PARENT, *command(tmp_path, f"{started}; {shown}; time.sleep(99)")]
    with subprocess.Popen(asks, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        # Nothing is held back from it, though Ctrl-C is from its parent.
        assert parent.stdout.readline() == "set()\n"
        assert len(left(tmp_path)) == 5
        parent.send_signal(how)
    wait_for(lambda: not left(tmp_path))
