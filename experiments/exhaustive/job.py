"""The enumeration of a restricted map space: count, evaluate, keep, report."""

from __future__ import annotations

import math
import shlex
import sys
import time
from dataclasses import replace

import numpy as np
from rich.table import Table

from experiments import cli, flags
from experiments.exhaustive.config import ExhaustiveConfig, Task, resolve
from experiments.exhaustive.optimum_files import Found, OptimumWriter
from experiments.exhaustive.tally import Tally, count
from experiments.progress import Bar
from experiments.tables import new_table, print_table
from maestro_env.evaluator import Evaluator
from maestro_env.map_space import Points

_SECONDS_BETWEEN_WRITES = 5.0
_TRIED = 2**14


def execute(config: ExhaustiveConfig) -> int:
    """Enumerate, write, print, and return the exit status."""
    task = resolve(config)
    warning = task.goal.problem.stride_warning()
    writer = OptimumWriter(task)
    if warning:
        print(f"warning: {warning}", file=sys.stderr)
    interrupted = _enumerate(task, writer)
    with cli.undisturbed():
        writer.write()
        writer.close()
        print_table(_table(task, writer))
        print(f"optimum: {writer.directory}")
        if interrupted:
            resuming = flags.to_flags(replace(config, out=str(writer.directory), resume=True))
            print(
                f"interrupted: what is found so far is in {writer.directory}; "
                f"continue with: python -m experiments.exhaustive {shlex.join(resuming)}",
                file=sys.stderr,
            )
    return cli.INTERRUPTED if interrupted else 0


def _try(task: Task) -> tuple[float, float]:
    """Evaluate frames here and there: the best value of some, and the seconds all will take."""
    enumeration, evaluator = task.enumeration, _evaluator(task)
    few = len(enumeration.unit(0))
    rng = np.random.default_rng(0)
    frames = enumeration.at(rng.integers(enumeration.frames, size=max(few, _TRIED)))
    if task.bound is not None:
        # The better the first limit, the more is ruled out by it.
        frames = frames[np.argsort(task.bound.of(frames), kind="stable")]
    limit = _scan(task, evaluator, frames[:few], math.inf).best
    frames = enumeration.at(rng.integers(enumeration.frames, size=few))
    began = time.perf_counter()
    _scan(task, evaluator, frames, limit)
    return limit, (time.perf_counter() - began) / few * enumeration.frames


def _plan(task: Task, seconds: float) -> str:
    enumeration = task.enumeration
    what = "to evaluate" if task.bound is None else "to bound, whatever their orders"
    return (
        f"{enumeration.vectors:,} vectors, {enumeration.mappings:,} different mappings, "
        f"about {_rough(task.size):,} {what}: about {_duration(seconds)}"
    )


def _enumerate(task: Task, writer: OptimumWriter) -> bool:
    """Evaluate what is left, and return whether this was interrupted."""
    try:
        limit, seconds = _try(task)
        print(_plan(task, seconds * writer.left), flush=True)
        with Bar("mappings", task.enumeration.mappings) as bar:
            _run(task, writer, limit, bar)
    except KeyboardInterrupt:
        return not writer.finished
    return False


def _run(task: Task, writer: OptimumWriter, limit: float, bar: Bar) -> None:
    """Evaluate the units that are left, and write now and then."""
    evaluator, enumeration = _evaluator(task), task.enumeration
    written = time.perf_counter()
    began = written - writer.found.seconds
    for unit in range(writer.found.units, enumeration.units):
        tally = writer.found.tally
        tally += _scan(task, evaluator, enumeration.unit(unit), min(limit, tally.best))
        now = time.perf_counter()
        writer.found = Found(unit + 1, tally, now - began)
        bar.show(enumeration.mappings_before(unit + 1), f"best {tally.best:.4g}")
        if now - written > _SECONDS_BETWEEN_WRITES:
            writer.write()
            written = now


def _scan(task: Task, evaluator: Evaluator, frames: Points, limit: float) -> Tally:
    """Evaluate the mappings of frames, but for those that cannot be as good as a limit."""
    if task.bound is not None:
        frames = task.bound.keep(frames, limit)
    return count(evaluator, task.enumeration.batches(frames))


def _evaluator(task: Task) -> Evaluator:
    return Evaluator(task.goal.problem, task.goal.objective, threads=task.config.threads)


def _table(task: Task, writer: OptimumWriter) -> Table:
    goal, tally = task.goal, writer.found.tally
    problem, bound = goal.problem, goal.lower_bound
    fixed = "" if task.config.fix is None else f", {task.config.fix}"
    table = new_table(
        f"{problem.layer} on {problem.hardware.name}: {'all' if writer.finished else 'some'} "
        f"mappings of {problem.space.schema}, {problem.space.tiles}{fixed}",
        ("model",),
        (
            f"best {goal.objective.name} ({goal.objective.unit})",
            "times the lower bound",
            "mappings that have it",
            "valid",
            "invalid",
            "ruled out",
            "evaluated",
            "seconds",
        ),
    )
    found = tally.best_point is not None
    invalid = tally.mappings - tally.valid
    counts = (tally.optimal, tally.valid, invalid, writer.ruled_out, tally.evaluated)
    table.add_row(
        problem.model,
        f"{tally.best:.6g}" if found else "no valid mapping",
        f"{tally.best / bound:.4g}" if found and bound is not None else "-",
        *(f"{each:,}" for each in counts),
        f"{writer.found.seconds:.1f}",
    )
    return table


def _rough(number: int) -> int:
    """Return a number to two digits."""
    return round(number, 2 - len(str(number)))


def _duration(seconds: float) -> str:
    """Say a time as people do."""
    for unit, length in (("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(seconds, 1):.0f} s"
