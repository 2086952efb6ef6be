"""Cells: one search each, kept as a record in a file of its own, whoever runs it.

Beside it may be its trace. A search that is watched tells window by window what it did:
its mean return and its choices.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maestro_env.environments.task import Task
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.experiments.search.goals import Goal, goal_directory
from maestro_env.experiments.search.searches import Recorder, run_search
from maestro_env.experiments.search.traces import trace_path, write_trace
from maestro_env.experiments.shell import files
from maestro_env.experiments.shell.files import (
    BRIEF,
    distinct_name,
)
from maestro_env.experiments.shown.progress import best_note
from maestro_env.experiments.shown.statistics import Floats
from maestro_env.experiments.store.records import Record, Show, Versions
from maestro_env.mappers import is_own, may_end_early

_WINDOWS = 100
_DIGITS = 5
_PER_MILLE = 1000


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
        after: float64[I], seconds after which they did; NaN in records of old versions.
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
    after: Floats
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

    def best_within(self, seconds: Floats) -> Floats:
        """Return the best within each number of seconds, shape [C] to [C]."""
        found = np.searchsorted(self.after, seconds, side="right")
        bests: Floats = np.append(np.inf, self.values)[found]
        return bests

    def samples_to(self, value: float) -> float:
        """Return the first evaluation with this value or less; infinite if there is none."""
        return float(np.append(self.at[self.values <= value], np.inf)[0])


@dataclass(frozen=True)
class SearchRecord(Record[Finished]):
    """A cell of a directory, with all a process needs to search it or to read its record.

    Args:
        cell: which.
        goal: that its layer and objective stand for.
        samples: to spend.
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
    made: str | None = None
    watched: bool = False
    traced: bool = False
    threads: int = 1
    start: tuple[tuple[int, ...], ...] = ()

    def __str__(self) -> str:
        return str(self.cell)

    @property
    def path(self) -> Path:
        return self.cell.path(self.directory)

    @property
    def runs_own_code(self) -> bool:
        return is_own(self.cell.mapper)

    def facts(self) -> dict[str, Any]:
        return {"cell": asdict(self.cell)}

    def compute(self, show: Show) -> dict[str, Any]:
        clock: list[tuple[int, float]] = []

        def follow(evaluator: Evaluator) -> None:
            clock.append((evaluator.used, time.perf_counter() - began))
            show(evaluator.used / self.samples, best_note(evaluator))

        goal, limits = self.goal, (self.samples, self.threads)
        start = np.array(self.start, dtype=np.int32) if self.start else None
        kind = Recorder if self.watched else Evaluator
        evaluator = kind(goal.problem, goal.objective, *limits, follow, start)
        began = time.perf_counter()
        seconds = run_search(evaluator, self.cell.mapper, self.cell.seed, self.made)
        entry = _entry(evaluator, seconds, clock)
        if isinstance(evaluator, Recorder):
            entry["windows"] = windows_entry(windows_of(evaluator, goal), goal)
        if self.traced:
            write_trace(trace_path(self.path), self.cell.mapper, self.cell.seed, evaluator)
            entry["trace"] = files.file_digest(trace_path(self.path))
        return entry

    def parse(self, entry: dict[str, Any]) -> Finished:
        spent = entry["evaluations"]
        if not 0 < spent <= self.samples or (
            spent < self.samples and not may_end_early(self.cell.mapper)
        ):
            raise ValueError(f"evaluations is {BRIEF.repr(spent)}, not {self.samples}")
        improvements, point = entry["improvements"], entry["best_point"]
        figures = ("evaluations", "invalid", "unique", "warm_up", "seconds", "model_seconds")
        windows = entry.get("windows")
        finished = Finished(
            self.cell,
            **{name: entry[name] for name in figures},
            at=np.array([at for at, _ in improvements], dtype=np.int64),
            values=np.array([value for _, value in improvements], dtype=np.float64),
            after=np.array(entry.get("seconds_of_improvements", [np.nan] * len(improvements))),
            best_point=None if point is None else tuple(point),
            versions=entry["versions"],
            windows=None if windows is None else recorded_windows(windows, self.goal, spent),
            trace=entry.get("trace"),
        )
        self.goal.check_best(finished.best_point, finished.best)
        trace = trace_path(self.path)
        if finished.trace is not None and files.file_digest(trace) != finished.trace:
            raise ValueError(f"{trace} does not fit it: it was changed")
        return finished


def _entry(
    evaluator: Evaluator, seconds: float, clock: Sequence[tuple[int, float]]
) -> dict[str, Any]:
    """Return what a record tells; the clock has the seconds after which so many were evaluated."""
    best, improved = evaluator.best, improvements(evaluator)
    evaluated, after = np.array(clock).reshape(-1, 2).T
    ends = np.searchsorted(evaluated, [at for at, _ in improved])
    return {
        "evaluations": evaluator.used,
        "invalid": evaluator.used - evaluator.valid,
        "unique": evaluator.unique,
        "warm_up": evaluator.warmed_up,
        "improvements": improved,
        "seconds_of_improvements": after[ends].tolist(),
        "best_point": best.point.tolist() if best else None,
        "seconds": seconds,
        "model_seconds": evaluator.model_seconds,
    }


def improvements(evaluator: Evaluator) -> list[tuple[int, float]]:
    """Return the samples that found a new best, counted from 1, and what they found."""
    bests = np.minimum.accumulate(evaluator.trace[0])
    improved = np.flatnonzero(bests < np.append(np.inf, bests[:-1]))
    return [(index + 1, float(bests[index])) for index in improved.tolist()]


@dataclass(frozen=True, eq=False)
class Windows:
    """What a search did in each of W windows of equal width.

    Args:
        ends: int64[W], evaluations up to and including each window.
        returns: float64[W], mean reward: the objective of a typical random mapping divided by that
            of a sample, 0 for an invalid one.
        choices: float64[W, D], mean choice of every parameter: 0 is its first, 1 its last.
        spreads: float64[W, D], standard deviation of the same.
    """

    ends: NDArray[np.int64]
    returns: Floats
    choices: Floats
    spreads: Floats


def windows_of(recorder: Recorder, goal: Goal) -> Windows:
    """Return what a search did so far, which must have begun."""
    rewards = reference(goal) / recorder.trace[0]
    choices = recorder.points / np.maximum(recorder.space.sizes - 1, 1)
    ends = window_ends(recorder.used)
    means = window_means(choices, ends)
    variances = window_means(choices**2, ends) - means**2
    spreads = np.sqrt(np.maximum(variances, 0.0))
    return Windows(ends, window_means(rewards, ends), means, spreads)


def reference(goal: Goal) -> float:
    """Return the objective that earns 1, the same as that of ``MaestroEnv``."""
    return Task(goal.problem, goal.objective).reference


def window_ends(samples: int) -> NDArray[np.int64]:
    """Return where windows end, int64[W]: as many as there are samples, at most a hundred."""
    windows = min(_WINDOWS, samples)
    return np.arange(1, windows + 1) * samples // windows


def window_means(values: Floats, ends: NDArray[np.int64]) -> Floats:
    """Return the mean in each window, shape [N, ...] to [W, ...]."""
    starts = np.append(0, ends[:-1])
    widths = (ends - starts).reshape(-1, *(1 for _ in values.shape[1:]))
    means: Floats = np.add.reduceat(values, starts, axis=0) / widths
    return means


def windows_entry(windows: Windows, goal: Goal) -> dict[str, Any]:
    """Return windows as a cell's file holds them: a line of numbers each, choices per mille."""

    def lines(columns: Floats) -> dict[str, str]:
        whole = np.rint(columns * _PER_MILLE).astype(int).T.tolist()
        return {
            parameter.name: " ".join(map(str, column))
            for parameter, column in zip(goal.problem.space.parameters, whole, strict=True)
        }

    return {
        "returns": " ".join(f"{each:.{_DIGITS}g}" for each in windows.returns.tolist()),
        "choices": lines(windows.choices),
        "spreads": lines(windows.spreads),
    }


def recorded_windows(entry: dict[str, Any], goal: Goal, samples: int) -> Windows:
    """Return the windows that a cell's file holds.

    Raises:
        LookupError, TypeError, ValueError: it holds something else.
    """
    ends = window_ends(samples)

    def numbers(line: object) -> Floats:
        if not isinstance(line, str):
            raise TypeError("windows are not lines of numbers")
        found = np.array(line.split(), dtype=np.float64)
        if found.shape != ends.shape or not np.isfinite(found).all():
            raise ValueError(f"windows: {len(found)} numbers, allowed: {len(ends)} finite ones")
        return found

    def columns(lines: dict[str, object]) -> Floats:
        parameters = goal.problem.space.parameters
        return np.stack([numbers(lines[each.name]) for each in parameters], axis=1) / _PER_MILLE

    returns, choices, spreads = (entry[name] for name in ("returns", "choices", "spreads"))
    return Windows(ends, numbers(returns), columns(choices), columns(spreads))
