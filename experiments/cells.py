"""Cells of a comparison: one search each, kept in a file of its own."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.failures import record_failure
from experiments.files import (
    RecordError,
    distinct_name,
    ensure_directory,
    read_json,
    write_json,
)
from experiments.goal_files import goal_directory
from experiments.goals import Goal
from experiments.readback import BRIEF, number, value, vector
from experiments.searches import Search, run_search
from experiments.stats import Floats, best_so_far
from experiments.windows import WatchedEvaluator, Windows, from_entry, to_entry
from maestro_env.evaluator import Evaluator

Versions = dict[str, str | None]


@dataclass(frozen=True)
class Cell:
    """A search of a comparison.

    Args:
        layer: as it was called.
        objective: name of what is minimised.
        mapper: its name, and changes of its settings if need be.
        seed: the search begins with.
    """

    layer: str
    objective: str
    mapper: str
    seed: int

    def __str__(self) -> str:
        return f"{self.mapper} on {self.layer}, {self.objective}, seed {self.seed}"

    def path(self, directory: Path) -> Path:
        """Return where a comparison's directory keeps it."""
        goal = goal_directory(directory, self.layer, self.objective)
        return goal / distinct_name(self.mapper) / f"{self.seed}.json"


@dataclass(frozen=True, eq=False)
class Finished:
    """A cell whose search has ended.

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
    """A cell to be run, with all a process needs for it.

    Args:
        cell: which.
        goal: that its layer and objective stand for.
        samples: to spend.
        directory: of the comparison.
        versions: of what computes it.
        made: the text to make the mapper of, where files are named by their place; None for the
            cell's own.
        watched: whether its file tells what it did over its samples too.
    """

    cell: Cell
    goal: Goal
    samples: int
    directory: Path
    versions: Versions
    made: str | None = None
    watched: bool = False


def run_cell(work: Work) -> str | None:
    """Run a cell and write its file; return the line that tells of its failure, if it failed.

    Raises:
        RecordError: the file cannot be written.
    """
    cell, path = work.cell, work.cell.path(work.directory)
    error_path = path.with_suffix(".error.txt")
    ensure_directory(path.parent)
    evaluator = _evaluator(work)
    try:
        search = run_search(evaluator, cell.mapper, cell.seed, work.made)
    except (Exception, SystemExit) as error:  # noqa: BLE001 (a mapper may raise anything)
        return record_failure(error_path, str(cell), error)
    entry = _entry(cell, search, work.versions)
    if isinstance(evaluator, WatchedEvaluator):
        entry["windows"] = to_entry(evaluator.windows(), work.goal)
    write_json(path, entry)
    error_path.unlink(missing_ok=True)
    return None


def read_cell(directory: Path, cell: Cell, goal: Goal, samples: int, again: str) -> Finished | None:
    """Read a cell of a comparison; None if its search has not ended yet.

    Args:
        directory: of the comparison.
        cell: which.
        goal: that its layer and objective stand for.
        samples: it must have spent.
        again: what runs the search again once its file is gone, for the message.

    Raises:
        RecordError: the file is damaged, or belongs to another search.
    """
    path = cell.path(directory)
    if not path.exists():
        return None
    try:
        entry = read_json(path)
        finished = _finished(cell, entry, samples)
        _check_best(finished, goal)
        if "windows" in entry:
            finished = replace(finished, windows=from_entry(entry["windows"], goal, samples))
    except (LookupError, TypeError, ValueError, OverflowError) as error:
        raise RecordError(
            f"{path} is no finished search: {error}; delete it, and {again} runs it again"
        ) from None
    return finished


def _evaluator(work: Work) -> Evaluator:
    if work.watched:
        return WatchedEvaluator(work.goal, work.samples)
    return Evaluator(work.goal.problem, work.goal.objective, work.samples)


def _entry(cell: Cell, search: Search, versions: Versions) -> dict[str, Any]:
    bests = best_so_far(search.values)
    improved = np.flatnonzero(bests < np.append(np.inf, bests[:-1]))
    return {
        **asdict(cell),
        "evaluations": len(search.values),
        "invalid": search.invalid,
        "unique": search.unique,
        "warm_up": search.warm_up,
        "improvements": [[index + 1, float(bests[index])] for index in improved.tolist()],
        "best_point": search.best_point,
        "seconds": search.seconds,
        "model_seconds": search.model_seconds,
        "versions": versions,
    }


def _finished(cell: Cell, entry: dict[str, Any], samples: int) -> Finished:
    for name, asked in asdict(cell).items():
        if type(entry[name]) is not type(asked) or entry[name] != asked:
            raise ValueError(f"{name} is {BRIEF.repr(entry[name])}, not {asked!r}")
    counts = {name: number(entry, name, int) for name in ("evaluations", "invalid", "unique")}
    if counts["evaluations"] != samples or max(counts.values()) > samples:
        raise ValueError(f"{counts} for {samples} samples")
    at, values = _improvements(entry["improvements"], samples)
    best_point = vector(entry, "best_point")
    if (best_point is None) != (len(at) == 0):
        raise ValueError(f"best_point is {best_point} after {len(at)} improvements")
    return Finished(
        cell,
        evaluations=counts["evaluations"],
        invalid=counts["invalid"],
        unique=counts["unique"],
        warm_up=number(entry, "warm_up", int),
        at=at,
        values=values,
        best_point=best_point,
        seconds=number(entry, "seconds", float),
        model_seconds=number(entry, "model_seconds", float),
        versions=_versions(entry["versions"]),
    )


def _check_best(finished: Finished, goal: Goal) -> None:
    if finished.best_point is None:
        return
    found, recorded = value(goal, finished.best_point), finished.values[-1]
    if found != recorded:
        raise ValueError(
            f"best_point has {goal.objective.name} {found}, but the best is {recorded}"
        )


def _improvements(pairs: object, samples: int) -> tuple[NDArray[np.int64], Floats]:
    if not isinstance(pairs, list):
        raise TypeError(f"improvements: {BRIEF.repr(pairs)}")
    for evaluation, best in pairs:
        if type(evaluation) is not int or type(best) not in (int, float):
            raise TypeError(f"improvements: {BRIEF.repr([evaluation, best])}")
    at = np.array([evaluation for evaluation, _ in pairs], dtype=np.int64)
    values = np.array([best for _, best in pairs], dtype=np.float64)
    rising = np.all(np.diff(at, prepend=0) > 0) and np.all(at <= samples)
    if not rising or not np.isfinite(values).all() or np.any(np.diff(values) >= 0):
        raise ValueError(f"improvements: {BRIEF.repr(pairs)}")
    return at, values


def _versions(entry: object) -> Versions:
    if not isinstance(entry, dict) or not all(
        each is None or isinstance(each, str) for each in entry.values()
    ):
        raise TypeError(f"versions: {BRIEF.repr(entry)}")
    return entry
