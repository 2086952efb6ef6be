"""The directory of an enumeration: what it has found so far, and in the end the optimum."""

from __future__ import annotations

import math
import shlex
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from experiments import files
from experiments.claims import Claim, remove_abandoned
from experiments.exhaustive.config import Task
from experiments.files import RecordError, check_same
from experiments.flags import to_flags
from experiments.goals import ANEW, write_mapping
from experiments.machine import processor, versions

_ADDED = ("units", "ruled_out", "evaluated", "mappings", "valid", "seconds")


@dataclass(frozen=True)
class Found:
    """Counts of mappings, and the best of them.

    Args:
        units: finished units of work.
        ruled_out: mappings that were not evaluated, as their bound is too high.
        evaluated: vectors that were evaluated.
        mappings: different mappings they stand for.
        valid: of these, with a value.
        best: the least value; infinite if there is none.
        optimal: mappings with exactly this value.
        best_point: vector of the first one; None if there is none.
        seconds: time spent.
    """

    units: int = 0
    ruled_out: int = 0
    evaluated: int = 0
    mappings: int = 0
    valid: int = 0
    best: float = math.inf
    optimal: int = 0
    best_point: list[int] | None = None
    seconds: float = 0.0

    def __add__(self, later: Found) -> Found:
        first = self if self.best <= later.best else later
        sums = {name: getattr(self, name) + getattr(later, name) for name in _ADDED}
        optimal = sum(each.optimal for each in (self, later) if each.best == first.best)
        return replace(first, **sums, optimal=optimal)


class OptimumWriter:
    """Writes the directory of an enumeration, a new one or one to continue, and what it found."""

    def __init__(self, task: Task) -> None:
        self._task = task
        # Asking git takes a moment, in which an interrupt should leave nothing behind.
        self._machine = {**versions(), "processor": processor()}
        config = task.config
        stem = f"{files.safe_name(task.goal.problem.layer.name)}-{config.objective}-optimum"
        self.directory = files.run_directory(config.out, stem, config.resume)
        remove_abandoned(self.directory)
        self._path = self.directory / "optimum.json"
        self._claim = Claim(self._path)
        if not self._claim.take():
            raise RecordError(f"{self.directory}: another process works on it; wait for it to end")
        # An enumeration that was killed at once has written nothing.
        self.found = Found() if files.is_empty(self.directory) else _read(task, self._path)
        self.write()

    @property
    def finished(self) -> bool:
        return self.found.units == self._task.enumeration.units

    def close(self) -> None:
        """Let other processes work on it."""
        self._claim.give_back()

    def write(self) -> None:
        """Write what was found so far."""
        goal, point, best = self._task.goal, self.found.best_point, None
        if point is not None:
            mapping = goal.problem.space.decode(point)
            cost = write_mapping(self.directory, goal, mapping)
            best = {"directives": mapping.directives, "cost": cost}
        flags = shlex.join(to_flags(self._task.config))
        report = {
            "command": f"python -m experiments.exhaustive {flags}",
            **self._task.describe(),
            "finished": self.finished,
            "found": asdict(self.found) | ({"best": None} if point is None else {}),
            "best": best,
            "versions": self._machine,
        }
        files.write_record(self._path, report)


def _read(task: Task, path: Path) -> Found:
    begun = files.read_record(path, ANEW)
    check_same(path, begun, task.describe())
    try:
        found = Found(**begun["found"])
        task.goal.check_best(found.best_point, found.best)
    except (LookupError, TypeError, ValueError) as error:
        raise RecordError(f"{path} is no enumeration: {error}; {ANEW}") from None
    return found if found.best_point else Found(**begun["found"] | {"best": math.inf})
