"""The directory of a search for the optimum: what it has found, and the boxes that are left."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments import files
from experiments.claims import Claim, remove_abandoned
from experiments.files import RecordError, check_same
from experiments.goals import ANEW, Goal, write_mapping
from experiments.machine import processor, versions

Step = tuple[float, float | None, float | None]
"""Seconds, best and bound."""

_NAME = "optimum.json"


@dataclass(frozen=True)
class Found:
    """What a search has found.

    Args:
        best: the least value; None if no mapping was valid.
        best_point: a vector that has it.
        bound: no mapping has a lower value; None for infinite: none is valid.
        nodes: boxes of mappings whose bound was computed.
        samples: mappings that were evaluated.
        seconds: spent.
        curve: steps at which the best changed, or the bound by enough to be seen.
    """

    best: float | None = None
    best_point: list[int] | None = None
    bound: float | None = 0.0
    nodes: int = 0
    samples: int = 0
    seconds: float = 0.0
    curve: list[Step] = field(default_factory=list)

    @property
    def proven(self) -> bool:
        return self.best == self.bound


class OptimumRecord:
    """The record of a search in its directory.

    Attributes:
        directory: that keeps it.
        found: by the search so far.
        left: int32[B, N], boxes that it has not ruled out; None before it has begun.
    """

    def __init__(self, directory: Path, goal: Goal) -> None:
        self.directory, self._goal = directory, goal
        self._path = directory / _NAME
        # Asking git takes a moment, in which an interrupt should leave nothing behind.
        self._machine = {**versions(), "processor": processor()}
        self.found, self.left = Found(), None
        # A search that was killed at once has written nothing.
        if not files.is_empty(directory):
            self.found, self.left = self._read()

    def write(self, found: Found, left: NDArray[np.int32]) -> None:
        """Write what was found so far, and its mapping."""
        self.found, self.left = found, left
        best = None
        if found.best_point is not None:
            mapping = self._goal.problem.space.decode(found.best_point)
            cost = write_mapping(self.directory, self._goal, mapping)
            best = {"directives": mapping.directives, "cost": cost}
        boxes = base64.b64encode(zlib.compress(left.tobytes())).decode()
        entry = {
            **self._goal.describe(),
            "found": asdict(found),
            "proven": found.proven,
            "best": best,
            "left": {"shape": list(left.shape), "boxes": boxes},
            "versions": self._machine,
        }
        files.write_record(self._path, entry)

    def _read(self) -> tuple[Found, NDArray[np.int32]]:
        begun = files.read_record(self._path, ANEW)
        check_same(self._path, begun, self._goal.describe())
        try:
            found = Found(**begun["found"])
            self._goal.check_best(found.best_point, found.best)
            boxes = zlib.decompress(base64.b64decode(begun["left"]["boxes"]))
            left = np.frombuffer(boxes, dtype=np.int32).reshape(begun["left"]["shape"])
        except (LookupError, TypeError, ValueError, zlib.error) as error:
            raise RecordError(f"{self._path} is no search: {error}; {ANEW}") from None
        return found, left


@contextmanager
def open_record(out: str | None, resume: bool, goal: Goal) -> Iterator[OptimumRecord]:
    """Give the record of a new directory, or of the one to resume, to one process at a time."""
    stem = f"{files.safe_name(goal.problem.layer.name)}-{goal.objective.name}-optimum"
    directory = files.run_directory(out, stem, resume)
    remove_abandoned(directory)
    claim = Claim(directory / _NAME)
    if not claim.take():
        raise RecordError(f"{directory}: another process works on it; wait for it to end")
    try:
        yield OptimumRecord(directory, goal)
    finally:
        claim.give_back()
