"""Programs of any language that search: they speak JSON, a line at a time.

This side writes the problem, then answers each line with values:

    {"format": "maestro-env/ask/1", "layer": ..., "parameters": [...], "budget": 500, "seed": 7}
    program: {"ask": [[3, 0, 17, ...], ...]}     vectors, a choice of each parameter
    {"tell": [12.5, null, ...], "remaining": 498}     null: the mapping is not valid

It counts every vector. The program ends when nothing remains, or before.
"""

from __future__ import annotations

import json
import shlex
import subprocess
from contextlib import suppress
from typing import Any

import numpy as np

from experiments.problems.held import described
from maestro_env.base.errors import MaestroEnvError, quoted
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.problem import require_two_levels
from mappers.base import Mapper, NoConfig

FORMAT = "maestro-env/ask/1"

_MOST_BYTES = 2**24
_SECONDS_TO_END = 5


class ProgramError(MaestroEnvError, RuntimeError):
    """A program that cannot be started, or says what it must not."""


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

    Raises:
        ProgramError: no command; by ``search``, one that does not start, a line that is no
            question, or more vectors than remain.
    """

    def __init__(self, command: str) -> None:
        super().__init__()
        self._command = split_command(command)
        if not self._command:
            raise ProgramError("program: no command; give one, such as program:'python mine.py'")

    def search(self, evaluator: Evaluator, budget: int, rng: np.random.Generator) -> None:
        """Answer the program until it ends or nothing remains."""
        try:
            process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError as error:
            told = f"cannot start {self._command[0]}: {error.strerror}"
            raise ProgramError(told) from None
        with process:
            try:
                self._talk(process, evaluator, budget, int(rng.integers(2**31)))
                self._end(process)
            finally:
                process.kill()
                _close(process)

    def _talk(
        self, process: subprocess.Popen[bytes], evaluator: Evaluator, budget: int, seed: int
    ) -> None:
        left = budget
        self._write(process, _told(evaluator, budget, seed))
        assert process.stdout is not None
        while left and (line := process.stdout.readline(_MOST_BYTES)):
            points = self._asked(line, evaluator, left)
            values = evaluator.evaluate(points).values
            left -= len(points)
            told = [value if np.isfinite(value) else None for value in values.tolist()]
            self._write(process, {"tell": told, "remaining": left})

    def _asked(self, line: bytes, evaluator: Evaluator, left: int) -> Any:
        """Return the vectors that a line asks for, int32[N, D]."""
        try:
            asked = json.loads(line)["ask"]
            if not 0 < len(asked) <= left:
                raise ValueError(f"it asks for {len(asked)} vectors; allowed: 1 to {left}")
            points = evaluator.space.as_points(asked, len(asked))
            for point in points:
                evaluator.space.decode(point)  # It refuses what is out of range.
        except (LookupError, TypeError, ValueError, RecursionError) as error:
            shown = quoted(line[:80].decode(errors="replace").strip())
            raise ProgramError(f"{self._command[0]} says {shown}: {error}") from None
        return points

    def _write(self, process: subprocess.Popen[bytes], told: dict[str, Any]) -> None:
        assert process.stdin is not None
        with suppress(BrokenPipeError):  # It has ended, which its output says.
            process.stdin.write(json.dumps(told).encode() + b"\n")
            process.stdin.flush()

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """Let the program end by itself, and refuse what has failed."""
        _close(process)
        try:
            status = process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            return
        if status:
            raise ProgramError(f"{self._command[0]} ended with status {status}")


def _close(process: subprocess.Popen[bytes]) -> None:
    """Tell the program that nothing follows; it may have ended."""
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.close()


def _told(evaluator: Evaluator, budget: int, seed: int) -> dict[str, Any]:
    """Return what a program learns of a problem, as JSON holds it."""
    problem = require_two_levels(evaluator.problem, "a program")
    return {
        "format": FORMAT,
        **described(problem, evaluator.objective),
        "budget": budget,
        "seed": seed,
    }
