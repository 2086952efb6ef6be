"""The layers of a network one after the other, each searched from those before it and from none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.search.cells import tell_failure
from experiments.search.goals import Goal
from experiments.search.library import Entry, Start, start_of
from experiments.search.searches import Recorder, run_search
from experiments.shell import files
from experiments.shell.files import check_same, distinct_name

Show = Callable[[float, str], None]


@dataclass(frozen=True)
class Chain:
    """One mapper on the layers of one network from one seed.

    Args:
        network: its name.
        goals: of its layers, in the order of execution.
        mapper: its name.
        seed: of all searches.
        samples: evaluations of a search, ascending.
        library: evaluations of the search that a library has of every layer before.
        directory: that keeps the record.
    """

    network: str
    goals: tuple[Goal, ...]
    mapper: str
    seed: int
    samples: tuple[int, ...]
    library: int
    directory: Path
    again: str = "--resume"

    def __str__(self) -> str:
        return f"{self.mapper} on {self.network}, seed {self.seed}"

    @property
    def path(self) -> Path:
        """Where the record is."""
        folder = self.directory / "cells" / distinct_name(self.network)
        return folder / distinct_name(self.mapper) / f"{self.seed}.json"

    @property
    def error_path(self) -> Path:
        """Where the traceback of a failure is."""
        return self.path.with_suffix(".error.txt")

    def run(self, show: Show) -> str | None:
        """Search all layers and write the record; return the line that tells of a failure."""
        files.ensure_directory(self.path.parent)
        try:
            layers = self._layers(show)
        except (Exception, SystemExit) as error:  # noqa: BLE001 (a mapper may raise anything)
            return tell_failure(self, error, self.error_path, self.again)
        files.write_record(self.path, self._facts() | {"layers": layers})
        self.error_path.unlink(missing_ok=True)
        return None

    def read(self) -> list[dict[str, Any]]:
        """Return what the record tells of every layer."""
        entry = files.read_record(self.path, f"delete it, and {self.again} runs it again")
        check_same(self.path, entry, self._facts())
        layers: list[dict[str, Any]] = entry["layers"]
        return layers

    def _facts(self) -> dict[str, Any]:
        return {
            "chain": {
                "goals": [goal.describe() for goal in self.goals],
                "mapper": self.mapper,
                "seed": self.seed,
                "samples": list(self.samples),
                "library": self.library,
            }
        }

    def _layers(self, show: Show) -> list[dict[str, Any]]:
        """Search every layer: from none, from a library, and from the network under way.

        Values are the least after so many samples, None without a valid mapping. ``cold`` is of a
        search from none; ``charged`` of one that has the samples of the library's too; ``library``
        starts from the layers before as a library has them, ``under_way`` from what searches of as
        many samples found for them.
        """
        told = []
        library: list[Entry] = []
        under_way: dict[int, list[Entry]] = {samples: [] for samples in self.samples}
        most = self.samples[-1]
        for index, goal in enumerate(self.goals):
            show(index / len(self.goals), goal.problem.layer.name)
            start = start_of(goal, library)
            cold = self._search(goal, most + self.library, ())
            warm = self._search(goal, most, start)
            row: dict[str, Any] = {
                "layer": goal.problem.layer.name,
                "start": len(start),
                "start_valid": int(np.isfinite(warm.trace[0][: len(start)]).sum()),
                "cold": [_best(cold, n) for n in self.samples],
                "charged": [_best(cold, n + self.library) for n in self.samples],
                "library": [_best(warm, n) for n in self.samples],
                "under_way": [],
            }
            library += _entries(goal, cold, self.library)
            for samples, entries in under_way.items():
                found = self._search(goal, samples, start_of(goal, entries))
                row["under_way"].append(_best(found, samples))
                entries += _entries(goal, found, samples)
            told.append(row)
        return told

    def _search(self, goal: Goal, samples: int, start: Start) -> Recorder:
        given = np.array(start, dtype=np.int32) if start else None
        recorder = Recorder(goal.problem, goal.objective, samples, start=given)
        run_search(recorder, self.mapper, self.seed)
        return recorder


def _best(recorder: Recorder, samples: int) -> float | None:
    best = float(recorder.trace[0][:samples].min())
    return best if np.isfinite(best) else None


def _entries(goal: Goal, recorder: Recorder, samples: int) -> Sequence[Entry]:
    """Return the entry of the best of the first samples; none without a valid one."""
    values = recorder.trace[0][:samples]
    index = int(values.argmin())
    if not np.isfinite(values[index]):
        return []
    return [Entry.of(goal, recorder.points[index].tolist(), float(values[index]))]
