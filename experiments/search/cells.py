"""Cells: one search each, kept as a record in a file of its own, whoever runs it.

Beside it may be the trace: a row for every sample, as a gzip member. Members can be joined by their
bytes; any gzip reader sees one file.
"""

from __future__ import annotations

import csv
import gzip
import io
import traceback
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.search.goals import Goal, goal_directory
from experiments.search.searches import Recorder, run_search
from experiments.search.windows import Windows, from_entry, to_entry, windows_of
from experiments.shell import files
from experiments.shell.files import BRIEF, DamagedError, cannot_read, distinct_name, replacing
from experiments.shown.progress import best_note
from experiments.shown.statistics import Floats
from experiments.store.versions import Versions
from maestro_env.base.errors import printable
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.status import STATUSES
from mappers import may_end_early

_TRACE_HEADER = ("mapper", "seed", "evaluation", "objective", "best", "status")


@dataclass(frozen=True)
class Cell:
    """Which search: layer and mapper as they were called, objective, seed."""

    layer: str
    objective: str
    mapper: str
    seed: int

    def __str__(self) -> str:
        return f"{self.mapper} on {self.layer}, {self.objective}, seed {self.seed}"

    def path(self, directory: Path) -> Path:
        """Return where a directory keeps its record."""
        goal = goal_directory(directory, self.layer, self.objective)
        return goal / distinct_name(self.mapper) / f"{self.seed}.json"


@dataclass(frozen=True, eq=False)
class Finished:
    """A finished search, as its record tells it.

    Args:
        cell: which.
        evaluations: samples spent.
        invalid: of these, without a value.
        unique: of these, different mappings.
        warm_up: samples spent beside the budget.
        at: int64[I], 1-based evaluations that found a new best, rising.
        values: float64[I], what they found, falling.
        best_point: the vector of the last one; None if no mapping was valid.
        seconds: the search took.
        model_seconds: of these, in the cost model.
        versions: of what computed it, and the commit.
        windows: what it did over its samples, if the search was watched.
        trace: digest of the file of all its samples, if they were kept.
    """

    cell: Cell
    evaluations: int
    invalid: int
    unique: int
    warm_up: int
    at: NDArray[np.int64]
    values: Floats
    best_point: tuple[int, ...] | None
    seconds: float
    model_seconds: float
    versions: Versions
    windows: Windows | None = None
    trace: str | None = None

    @property
    def best(self) -> float | None:
        return float(self.values[-1]) if len(self.values) else None

    def best_after(self, evaluations: NDArray[np.int64]) -> Floats:
        """Return the best after each number of evaluations, shape [C] to [C]."""
        found = np.searchsorted(self.at, evaluations, side="right")
        bests: Floats = np.append(np.inf, self.values)[found]
        return bests

    def samples_to(self, value: float) -> float:
        """Return the first evaluation with this value or less; infinite if there is none."""
        return float(np.append(self.at[self.values <= value], np.inf)[0])


@dataclass(frozen=True)
class Work:
    """A cell of a directory, with all a process needs to run it or to read its record.

    Args:
        cell: which.
        goal: that its layer and objective stand for.
        samples: to spend.
        directory: that keeps its record.
        again: what runs it again once its record is gone, for messages.
        versions: of what computes it.
        made: the text to make the mapper of, where files are named by their place; None for the
            cell's own.
        watched: whether its record tells what it did over its samples too.
        traced: whether all its samples are kept beside the record.
        threads: of the batch evaluation.
        start: vectors that the search begins with.
    """

    cell: Cell
    goal: Goal
    samples: int
    directory: Path
    again: str
    versions: Versions = field(default_factory=dict)
    made: str | None = None
    watched: bool = False
    traced: bool = False
    threads: int = 1
    start: tuple[tuple[int, ...], ...] = ()

    @property
    def path(self) -> Path:
        """Where the record is."""
        return self.cell.path(self.directory)

    @property
    def error_path(self) -> Path:
        """Where the traceback of a failure is."""
        return self.path.with_suffix(".error.txt")

    def __str__(self) -> str:
        return str(self.cell)

    def run(self, show: Callable[[float, str], None]) -> str | None:
        """Run it as ``run_cell`` does, and show how far it is."""
        return run_cell(self, lambda each: show(each.used / self.samples, best_note(each)))


def trace_path(record: Path) -> Path:
    """Return where the samples of a search are, beside its record."""
    return record.with_suffix(".trace.csv.gz")


def run_cell(work: Work, on_batch: Callable[[Evaluator], None] | None = None) -> str | None:
    """Run a cell and write its record; return the line that tells of its failure, if it failed.

    ``on_batch`` is called after every batch, for progress bars.
    """
    cell, path, goal = work.cell, work.path, work.goal
    files.ensure_directory(path.parent)
    kind = Recorder if work.watched else Evaluator
    try:
        start = np.array(work.start, dtype=np.int32) if work.start else None
        limits = (work.samples, work.threads)
        evaluator = kind(goal.problem, goal.objective, *limits, on_batch, start)
        seconds = run_search(evaluator, cell.mapper, cell.seed, work.made)
    except (Exception, SystemExit) as error:  # noqa: BLE001 (a mapper may raise anything)
        return tell_failure(cell, error, work.error_path, work.again)
    entry = _entry(cell, evaluator, seconds, work.versions)
    if isinstance(evaluator, Recorder):
        entry["windows"] = to_entry(windows_of(evaluator, goal), goal)
    if work.traced:
        _write_trace(trace_path(path), cell, evaluator)
        entry["trace"] = files.file_digest(trace_path(path))
    # Last, so that a search with a record is complete.
    files.write_record(path, entry)
    work.error_path.unlink(missing_ok=True)
    return None


def tell_failure(what: object, error: BaseException, path: Path, again: str) -> str:
    """Write the traceback of a failed search, and return the line that tells of it."""
    files.write_text(path, "".join(traceback.format_exception(error)))
    reason = " ".join(f"{type(error).__name__}: {error}".split())
    told = printable(f"failed: {what}: {reason}; traceback in {path}")
    return f"{told}; {again} runs it again"


def read_cell(work: Work) -> Finished | None:
    """Read a record, which has to fit its goal and samples; None if the search has not ended."""
    path = work.path
    if not path.exists():
        return None
    way_out = f"delete it, and {work.again} runs it again"
    entry = files.read_record(path, way_out)
    try:
        finished = _finished(work, entry)
        work.goal.check_best(finished.best_point, finished.best)
    except (LookupError, TypeError, ValueError, OverflowError) as error:
        raise DamagedError(f"{path} is no finished search: {error}", way_out) from None
    if finished.trace is not None and files.file_digest(trace_path(path)) != finished.trace:
        raise DamagedError(
            f"{trace_path(path)} does not fit {path.name} beside it: it was changed",
            f"delete {path}, and {work.again} runs it again",
        )
    return finished


def join_traces(path: Path, traces: Iterable[Path]) -> None:
    """Write one file of the samples of several searches, with a header."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(_member([_TRACE_HEADER]))
        for trace in traces:
            try:
                file.write(trace.read_bytes())
            except OSError as error:
                raise cannot_read(trace, error) from None


def _write_trace(path: Path, cell: Cell, evaluator: Evaluator) -> None:
    values, status = evaluator.trace
    columns = (values, np.minimum.accumulate(values), status)
    samples = zip(*(column.tolist() for column in columns), strict=True)
    rows = (
        (printable(cell.mapper), cell.seed, index, value, best, STATUSES[code])
        for index, (value, best, code) in enumerate(samples, 1)
    )
    with replacing(path) as temporary:
        temporary.write_bytes(_member(rows))


def _member(rows: Iterable[Iterable[object]]) -> bytes:
    buffer = io.BytesIO()
    # No name and no time, so that the same trace makes the same bytes.
    with (
        gzip.GzipFile("", "wb", compresslevel=6, fileobj=buffer, mtime=0) as member,
        io.TextIOWrapper(member, encoding="utf-8", newline="") as text,
    ):
        csv.writer(text, lineterminator="\n").writerows(rows)
    return buffer.getvalue()


def _entry(cell: Cell, evaluator: Evaluator, seconds: float, versions: Versions) -> dict[str, Any]:
    best = evaluator.best
    return {
        **asdict(cell),
        "evaluations": evaluator.used,
        "invalid": evaluator.used - evaluator.valid,
        "unique": evaluator.unique,
        "warm_up": evaluator.warmed_up,
        "improvements": improvements(evaluator),
        "best_point": best.point.tolist() if best else None,
        "seconds": seconds,
        "model_seconds": evaluator.model_seconds,
        "versions": versions,
    }


def improvements(evaluator: Evaluator) -> list[tuple[int, float]]:
    """Return the samples that found a new best, counted from 1, and what they found."""
    bests = np.minimum.accumulate(evaluator.trace[0])
    improved = np.flatnonzero(bests < np.append(np.inf, bests[:-1]))
    return [(index + 1, float(bests[index])) for index in improved.tolist()]


def _finished(work: Work, entry: dict[str, Any]) -> Finished:
    """Make what a record tells; its digest has shown that it is as it was written.

    Raises:
        LookupError, TypeError, ValueError: it belongs to another search.
    """
    for name, asked in asdict(work.cell).items():
        if entry[name] != asked:
            raise ValueError(f"{name} is {BRIEF.repr(entry[name])}, not {asked!r}")
    spent = entry["evaluations"]
    if not 0 < spent <= work.samples or (
        spent < work.samples and not may_end_early(work.cell.mapper)
    ):
        raise ValueError(f"evaluations is {BRIEF.repr(spent)}, not {work.samples}")
    improvements, point = entry["improvements"], entry["best_point"]
    figures = ("evaluations", "invalid", "unique", "warm_up", "seconds", "model_seconds")
    windows = entry.get("windows")
    return Finished(
        work.cell,
        **{name: entry[name] for name in figures},
        at=np.array([at for at, _ in improvements], dtype=np.int64),
        values=np.array([value for _, value in improvements], dtype=np.float64),
        best_point=None if point is None else tuple(point),
        versions=entry["versions"],
        windows=None if windows is None else from_entry(windows, work.goal, spent),
        trace=entry.get("trace"),
    )
