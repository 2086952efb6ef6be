"""The directory of an enumeration: what it has found so far, and with that the optimum."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from experiments.claims import Claim, remove_abandoned
from experiments.exhaustive.config import Task
from experiments.exhaustive.tally import Tally
from experiments.files import (
    RecordError,
    is_empty,
    read_record,
    run_directory,
    safe_name,
    write_record,
)
from experiments.flags import to_flags
from experiments.goal_files import ANEW
from experiments.machine import processor, versions
from experiments.mapping_files import write_mapping
from experiments.readback import check_best, check_same

_OPTIMUM = "optimum.json"


@dataclass(frozen=True)
class Found:
    """What the first units of an enumeration have come to.

    Args:
        units: that are finished.
        tally: of their mappings.
        seconds: they took.
    """

    units: int = 0
    tally: Tally = field(default_factory=Tally)
    seconds: float = 0.0


class OptimumWriter:
    """Writes the directory of an enumeration, a new one or one to continue.

    Args:
        task: what is enumerated.

    Raises:
        RecordError: the directory exists, cannot be made, or is of another task.

    Attributes:
        directory: of the enumeration.
        found: so far.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        # Asking git takes a moment, in which an interrupt should leave nothing behind.
        self._machine = {**versions(), "processor": processor()}
        self.found = Found()
        self.directory = self._open()
        self.write()

    @property
    def finished(self) -> bool:
        return self.found.units == self._task.enumeration.units

    @property
    def left(self) -> float:
        """The part of the units that is not finished, 0 to 1."""
        return 1 - self.found.units / self._task.enumeration.units

    @property
    def ruled_out(self) -> int:
        """Mappings of the finished units that were not evaluated."""
        before = self._task.enumeration.mappings_before(self.found.units)
        return before - self.found.tally.mappings

    def close(self) -> None:
        """Let other processes work on it."""
        self._claim.give_back()

    def write(self) -> None:
        """Write what was found so far."""
        point, flags = self.found.tally.best_point, to_flags(self._task.config)
        best = None if point is None else self._write_best(point)
        report = {
            "command": f"python -m experiments.exhaustive {shlex.join(flags)}",
            **self._task.describe(),
            "finished": self.finished,
            "found": {
                "units": self.found.units,
                "ruled_out": self.ruled_out,
                **self.found.tally.to_entry(),
                "seconds": self.found.seconds,
            },
            "best": best,
            "versions": self._machine,
        }
        write_record(self.directory / _OPTIMUM, report)

    def _write_best(self, point: tuple[int, ...]) -> dict[str, Any]:
        """Write the best mapping; return what there is to say of it."""
        goal = self._task.goal
        mapping = goal.problem.space.decode(point)
        cost = write_mapping(self.directory, goal, mapping)
        return {"directives": mapping.directives, "cost": cost}

    def _open(self) -> Path:
        config = self._task.config
        stem = f"{safe_name(self._task.goal.problem.layer.name)}-{config.objective}-optimum"
        directory = run_directory(config.out, config.resume, stem)
        remove_abandoned(directory)
        self._claim = Claim(directory / _OPTIMUM)
        if not self._claim.take():
            raise RecordError(f"{directory}: another process works on it; wait for it to end")
        # An enumeration killed at once has not come to write anything.
        if not is_empty(directory):
            self._read(directory / _OPTIMUM)
        return directory

    def _read(self, path: Path) -> None:
        begun = read_record(path, ANEW)
        check_same(path, begun, self._task.describe())
        try:
            found = begun["found"]
            tally = Tally.from_entry(found)
            check_best(self._task.goal, tally.best_point, tally.to_entry()["best"])
            self.found = Found(found["units"], tally, found["seconds"])
        except (LookupError, TypeError, ValueError) as error:
            raise RecordError(f"{path} is no enumeration: {error}; {ANEW}") from None
