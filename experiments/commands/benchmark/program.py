"""Programs of any language that search: run, and spoken to in JSON, a line at a time.

This side writes the problem, then answers each line with values:

    {"format": "maestro-env/ask/1", "layer": ..., "parameters": [...], "budget": 500, "seed": 7}
    program: {"ask": [[3, 0, 17, ...], ...]}     vectors, a choice of each parameter
    {"tell": [12.5, null, ...], "remaining": 498}     null: the mapping is not valid

It counts every vector. The program ends when nothing remains, or before.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from queue import Empty, Queue, SimpleQueue
from threading import Thread
from typing import Any

import numpy as np

from maestro_env.base.errors import MaestroEnvError, quoted
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.experiments.problems.labels import described
from maestro_env.experiments.search.goals import integers
from maestro_env.experiments.shell.printing import print_errors
from maestro_env.mappers.base import Mapper, NoConfig

_KEEPER = str(Path(__file__).with_name("keeper.py"))
_MOST_BYTES, _MOST_SHOWN = 2**24, 2**12
"""Of a line, and of one of stderr."""
_SECONDS_TO_END = 5


class ProgramError(MaestroEnvError, RuntimeError):
    """A program that cannot be started, or says what it must not."""


class TimedOutError(ProgramError):
    """A search that takes longer than it may."""


class Program:
    """A program in a ``with`` block, which ends it and its children; so does this process's end.

    What it writes to stderr is shown, line by line behind its name.

    Args:
        command: that starts it.
        seconds: that it may take.
    """

    def __init__(self, command: list[str], seconds: float) -> None:
        self._name, self._seconds, self._ends = command[0], seconds, time.monotonic() + seconds
        self._keeper, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", _KEEPER, str(theirs.fileno()), *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self._to_say, self._heard, self._over = SimpleQueue[bytes](), Queue[bytes](1), False
        actions = self._write, self._read, self._show
        self._threads = [Thread(target=each, daemon=True) for each in actions]
        for each in self._threads:
            each.start()

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self._keeper.close()
        self._end_keeper()
        self._over = True
        self.say(b"")
        with suppress(Empty):  # It makes room for what the thread holds.
            self._heard.get_nowait()
        for each in self._threads:
            each.join(1)  # What left the process group may hold a pipe, but on Linux.

    def _end_keeper(self) -> None:
        """Wait for the keeper, which its program may have stopped."""
        for _ in range(_SECONDS_TO_END):
            self._process.send_signal(signal.SIGCONT)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(1)
                return
        self._process.kill()
        self._process.wait()

    def line(self) -> bytes:
        """Return the next line that it writes; empty once there is none.

        Raises:
            TimedOutError: its time is over.
        """
        try:
            return self._heard.get(timeout=max(self._ends - time.monotonic(), 0))
        except Empty:
            told = f"{self._name} timed out; --seconds allows {self._seconds:g} s"
            raise TimedOutError(told) from None

    def say(self, line: bytes) -> None:
        """Write a line once the program reads it; an empty one says that none follows."""
        self._to_say.put(line)

    def end(self) -> None:
        """Let the program end by itself, which it has some seconds for.

        Raises:
            ProgramError: it did not start, or ended by an error.
        """
        self.say(b"")
        self._keeper.settimeout(_SECONDS_TO_END)
        with suppress(TimeoutError):
            if told := self._keeper.recv(_MOST_SHOWN):
                raise ProgramError(os.fsdecode(told))

    def _write(self) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError), self._process.stdin as stdin:  # It may read no more.
            for line in iter(self._to_say.get, b""):
                stdin.write(line)
                stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as stdout:
            line = b" "
            while line and not self._over:
                line = stdout.readline(_MOST_BYTES)
                self._heard.put(line)

    def _show(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as stderr:
            for line in iter(partial(stderr.readline, _MOST_SHOWN), b""):
                told = line.decode(errors="backslashreplace").removesuffix("\n")
                print_errors(f"{self._name}: {told}")


FORMAT = "maestro-env/ask/1"


def split_command(command: str) -> list[str]:
    """Split a command as a shell does.

    Raises:
        ProgramError: a quotation that does not end.
    """
    try:
        return shlex.split(command)
    except ValueError as error:
        raise ProgramError(f"program {quoted(command)}: {error}") from None


class ProgramMapper(Mapper[NoConfig]):
    """Lets a program search, a process for every search.

    Args:
        command: that starts it, as a shell would split it.
        seconds: that a search may take.

    Raises:
        ProgramError: no command; by ``search``, one that does not start, a line that is no
            question, or more vectors than remain.
        TimedOutError: by ``search``, one that has not ended in time.
    """

    def __init__(self, command: str, seconds: float) -> None:
        super().__init__()
        self._command, self._seconds = split_command(command), seconds
        if not self._command:
            raise ProgramError("program: no command; give one, such as program:'python mine.py'")

    def search(self, evaluator: Evaluator, budget: int, rng: np.random.Generator) -> None:
        """Answer the program until it ends or nothing remains, of its budget or the evaluator's."""
        with Program(self._command, self._seconds) as program:
            left = budget
            _say(program, _told(evaluator, budget, int(rng.integers(2**31))))
            while left and (line := program.line()):
                points = self._asked(line, evaluator, left)
                values = evaluator.evaluate(points).values
                left -= len(points)
                told = [value if np.isfinite(value) else None for value in values.tolist()]
                _say(program, {"tell": told, "remaining": left})
                if left and not evaluator.remaining:
                    return
            program.end()

    def _asked(self, line: bytes, evaluator: Evaluator, left: int) -> Any:
        """Return the vectors that a line asks for, int32[N, D]."""
        try:
            asked = json.loads(line)["ask"]
            if not 0 < len(asked) <= left:
                raise ValueError(f"it asks for {len(asked)} vectors; allowed: 1 to {left}")
            points = evaluator.space.as_points([integers(each) for each in asked], len(asked))
            for point in points:
                evaluator.space.decode(point)  # It refuses what is out of range.
        except (LookupError, TypeError, ValueError, RecursionError) as error:
            shown = quoted(line[:80].decode(errors="replace").strip())
            raise ProgramError(f"{self._command[0]} says {shown}: {error}") from None
        return points


def _say(program: Program, told: dict[str, Any]) -> None:
    program.say(json.dumps(told).encode() + b"\n")


def _told(evaluator: Evaluator, budget: int, seed: int) -> dict[str, Any]:
    """Return what a program learns of a problem, as JSON holds it."""
    return {
        "format": FORMAT,
        **described(evaluator.problem, evaluator.objective),
        "budget": budget,
        "seed": seed,
    }
