"""The enumeration of a restricted map space: count, evaluate, keep, report."""

from __future__ import annotations

import math
import sys
import time
from contextlib import suppress
from dataclasses import replace

import numpy as np

from experiments import cli, flags
from experiments.exhaustive.config import ExhaustiveConfig, Task, resolve
from experiments.exhaustive.frame_bound import Bound
from experiments.exhaustive.optimum_files import Found, OptimumWriter
from experiments.progress import Bar
from experiments.sheets import Sheet
from maestro_env.map_space import Points
from maestro_env.problem import OK

_SECONDS_BETWEEN_WRITES = 5.0
_TRIED = 2**14
# Bound and value are rounded in different places.
_ROUNDING = 1e-9


def execute(config: ExhaustiveConfig) -> int:
    """Enumerate, write, print, and return the exit status."""
    task = resolve(config)
    writer = OptimumWriter(task)
    if warning := task.goal.problem.stride_warning():
        print(f"warning: {warning}", file=sys.stderr)
    with suppress(KeyboardInterrupt):
        _enumerate(task, writer)
    with cli.undisturbed():
        writer.write()
        writer.close()
        _sheet(task, writer).print()
        print(f"optimum: {writer.directory}")
        if writer.finished:
            return 0
        flags.tell_interrupted("found so far", config, "experiments.exhaustive", writer.directory)
    return cli.INTERRUPTED


def _enumerate(task: Task, writer: OptimumWriter) -> None:
    """Evaluate the units that are left, and write now and then."""
    enumeration, first = task.enumeration, writer.found.units
    what = "to evaluate" if task.bound is None else "to bound, whatever their orders"
    print(
        f"{enumeration.vectors:,} vectors, {enumeration.mappings:,} different mappings, "
        f"about {float(f'{task.size:.2g}'):,.0f} {what}",
        flush=True,
    )
    limit = math.inf if task.bound is None else _first_limit(task, task.bound)
    written = time.perf_counter()
    with Bar("mappings", enumeration.mappings) as bar:
        for unit in range(first, enumeration.units):
            began = time.perf_counter()
            found = scan(task, enumeration.unit(unit), min(limit, writer.found.best))
            now = time.perf_counter()
            writer.found += replace(found, units=1, seconds=now - began)
            done = writer.found.mappings + writer.found.ruled_out
            bar.show(done, f"best {writer.found.best:.4g}")
            if now - written > _SECONDS_BETWEEN_WRITES:
                writer.write()
                written = now


def _first_limit(task: Task, bound: Bound) -> float:
    """Return the best value of the most promising of random frames, which rules out others."""
    enumeration = task.enumeration
    few = len(enumeration.unit(0))
    rng = np.random.default_rng(0)
    frames = enumeration.at(rng.integers(enumeration.frames, size=max(few, _TRIED)))
    promising = frames[np.argsort(bound(frames), kind="stable")]
    return scan(task, promising[:few], math.inf).best


def scan(task: Task, frames: Points, limit: float) -> Found:
    """Evaluate the mappings of frames, except those whose bound exceeds a limit."""
    kept, enumeration, goal = frames, task.enumeration, task.goal
    if task.bound is not None:
        kept = frames[task.bound(frames) <= limit * (1 + _ROUNDING)]
    total = Found(ruled_out=(len(frames) - len(kept)) * enumeration.mappings_of_frame)
    for points, weights in enumeration.batches(kept):
        values, status = goal.problem.score(points, goal.objective, task.config.threads)
        best = float(values.min(initial=math.inf))
        found = math.isfinite(best)
        total += Found(
            evaluated=len(points),
            mappings=int(weights.sum()),
            valid=int(weights[status == OK].sum()),
            best=best,
            optimal=int(weights[values == best].sum()) if found else 0,
            best_point=points[values.argmin()].tolist() if found else None,
        )
    return total


def _sheet(task: Task, writer: OptimumWriter) -> Sheet:
    goal, found = task.goal, writer.found
    problem, valid = goal.problem, found.best_point is not None
    best = f"{found.best:.6g}" if valid else "no valid mapping"
    times = f"{found.best / goal.lower_bound:.4g}" if valid and goal.lower_bound else "-"
    figures = {
        f"best {goal.objective.name} ({goal.objective.unit})": best,
        "times the lower bound": times,
        "mappings that have it": f"{found.optimal:,}",
        "valid": f"{found.valid:,}",
        "invalid": f"{found.mappings - found.valid:,}",
        "ruled out": f"{found.ruled_out:,}",
        "evaluated": f"{found.evaluated:,}",
        "seconds": f"{found.seconds:.1f}",
    }
    fixed = "" if task.config.fix is None else f", {task.config.fix}"
    title = (
        f"{problem.layer} on {problem.hardware.name}: {'all' if writer.finished else 'some'} "
        f"mappings of {problem.space.schema}, {problem.space.tiles}{fixed}"
    )
    return Sheet(title, ("model",), tuple(figures), [(problem.model, *figures.values())])
