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
from typing import Any

import numpy as np

from maestro_env.base.errors import quoted
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.experiments.commands.benchmark.talking import Program, ProgramError
from maestro_env.experiments.problems.labels import described
from maestro_env.experiments.search.goals import integers
from maestro_env.mappers.base import Mapper, NoConfig

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
