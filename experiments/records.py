"""The run directory: everything a run leaves behind.

``summary.json`` says which searches there are. The trace is written before it, so whatever instant
a run is killed at, the searches of the summary can be read and the others be run again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.config import Task, recorded
from experiments.files import (
    RecordError,
    make_directory,
    read_json,
    safe_name,
    write_json,
    write_text,
)
from experiments.machine import processor, versions
from experiments.readback import BRIEF, check_same, number, value, vector
from experiments.searches import Search, best_search, summarise
from experiments.stats import Floats
from experiments.traces import Trace, append_trace, read_trace, write_trace
from maestro_env.errors import MapSpaceError
from maestro_env.layer import Layer
from maestro_env.mapping import Mapping

_CONFIG, _SUMMARY, _TRACE = "config.json", "summary.json", "trace.csv.gz"


@dataclass(frozen=True)
class Run:
    """A run directory as read back.

    Args:
        config: of ``config.json``.
        summary: of ``summary.json``.
        searches: in the order they ran.
    """

    config: dict[str, Any]
    summary: dict[str, Any]
    searches: tuple[Search, ...]


class RunWriter:
    """Writes the run directory of a task, search by search.

    Args:
        task: what is run.
        directory: exists and belongs to this run.
        kept: finished searches of an earlier attempt.
    """

    def __init__(self, task: Task, directory: Path, kept: Iterable[Search] = ()) -> None:
        self.directory = directory
        self.searches = list(kept)
        self._task = task
        self._write_summary(interrupted=True)
        write_trace(directory / _TRACE, self.searches)

    def add(self, search: Search) -> None:
        """Add a search; until ``finish`` says otherwise the run counts as interrupted."""
        append_trace(self.directory / _TRACE, search)
        self.searches.append(search)
        self._write_summary(interrupted=True)

    def finish(self, interrupted: bool) -> dict[str, Any]:
        """Write the best mapping and the final summary, and return the summary."""
        best = best_search(self.searches)
        if best is not None:
            self._write_best(best)
        return self._write_summary(interrupted)

    def _write_summary(self, interrupted: bool) -> dict[str, Any]:
        summary = {
            "objective": self._task.objective.name,
            "unit": self._task.objective.unit,
            "lower_bound": self._task.lower_bound,
            "interrupted": interrupted,
            "mappers": summarise(self.searches, self._task.lower_bound),
        }
        write_json(self.directory / _SUMMARY, summary)
        return summary

    def _write_best(self, search: Search) -> None:
        problem = self._task.problem
        point = np.array(search.best_point, dtype=np.int32)
        mapping = problem.space.decode(point)
        cost, _ = problem.evaluate_mapping(mapping)
        assert cost is not None
        write_mapping(self.directory, mapping, problem.layer)
        best = {
            "mapper": search.mapper,
            "seed": search.seed,
            "evaluation": search.samples_to_best,
            "objective": search.best,
            "best_point": search.best_point,
            "cost": cost.as_dict(),
        }
        write_json(self.directory / "best_cost.json", best)


def write_mapping(directory: Path, mapping: Mapping, layer: Layer) -> None:
    """Write the best mapping of a layer as JSON, MAESTRO file and loop nest.

    Raises:
        RecordError: a file cannot be written.
    """
    write_text(directory / "best_mapping.json", mapping.to_json())
    write_text(directory / "best_mapping.m", mapping.to_m(layer))
    write_text(directory / "best_mapping.txt", f"{mapping}\n")


def begin(task: Task) -> RunWriter:
    """Make the directory of a new run.

    Raises:
        RecordError: it exists, or cannot be made.
    """
    # Asking git takes a moment, in which an interrupt should leave nothing behind.
    machine = {**versions(), "processor": processor()}
    directory = make_directory(
        task.config.out, f"{safe_name(task.problem.layer.name)}-{task.objective.name}"
    )
    write_json(directory / "versions.json", machine)
    writer = RunWriter(task, directory)
    # Last, so that a directory with a config can be resumed.
    write_json(directory / _CONFIG, task.describe())
    return writer


def resume(task: Task) -> RunWriter:
    """Continue the run in ``--out`` with the searches it has finished.

    Raises:
        RecordError: there is none, or it was begun with another config.
    """
    if task.config.out is None:
        raise RecordError("--resume needs the directory of the run to continue: --out DIR")
    directory = Path(task.config.out)
    run = read_run(directory)
    check_same(directory / _CONFIG, run.config, task.describe())
    for search in run.searches:
        _check_best(directory / _SUMMARY, task, search)
    kept = [search for search in run.searches if len(search.values) == task.config.samples]
    return RunWriter(task, directory, kept)


def read_run(directory: Path) -> Run:
    """Read a run directory.

    Raises:
        RecordError: a file is missing or damaged.
    """
    config, summary = read_json(directory / _CONFIG), read_json(directory / _SUMMARY)
    traces = read_trace(directory / _TRACE)
    try:
        searches = tuple(_read_searches(summary, traces))
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise RecordError(f"{directory / _SUMMARY} does not fit {_TRACE}: {error!r}") from None
    return Run(config, summary, searches)


def read_task(directory: Path, run: Run) -> Task:
    """Return what a run searched, once its best points are known to have their values.

    Raises:
        RecordError: its files are damaged or do not fit each other.
    """
    try:
        task = recorded(run.config)
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise RecordError(f"cannot read {directory / _CONFIG}: {error!r}") from None
    for search in run.searches:
        _check_best(directory / _SUMMARY, task, search)
    return task


def _read_searches(
    summary: dict[str, Any], traces: dict[tuple[str, int], Trace]
) -> Iterator[Search]:
    for mapper, figures in summary["mappers"].items():
        for entry in figures["seeds"]:
            # Popped, so that no search is there twice.
            values, status = traces.pop((mapper, entry["seed"]))
            yield _read_search(mapper, entry, values, status)


def _read_search(
    mapper: str, entry: dict[str, Any], values: Floats, status: NDArray[np.uint8]
) -> Search:
    seed, best_point = entry["seed"], vector(entry, "best_point")
    if type(seed) is not int or len(values) != entry["evaluations"]:
        raise ValueError(f"{len(values)} rows of {mapper}, seed {BRIEF.repr(seed)}")
    if (best_point is None) != bool(np.isinf(values).all()):
        raise ValueError(f"best_point of {mapper}, seed {seed}: {best_point}")
    return Search(
        mapper,
        seed,
        values,
        status,
        best_point,
        unique=number(entry, "unique", int),
        warm_up=number(entry, "warm_up", int),
        seconds=number(entry, "seconds", float),
        model_seconds=number(entry, "model_seconds", float),
    )


def _check_best(path: Path, task: Task, search: Search) -> None:
    """Check that the best point of a search has the best value of its trace."""
    if search.best_point is None:
        return
    try:
        found = value(task, search.best_point)
    except MapSpaceError as error:
        raise RecordError(f"{path}: best_point of {search.mapper}: {error}") from None
    if found != search.best:
        raise RecordError(
            f"{path}: best_point of {search.mapper}, seed {search.seed}, has "
            f"{task.objective.name} {found}, but the best in {_TRACE} is {search.best}"
        )
