"""What is to know of a sweep before it runs: that it can, how long it takes, in which chunks."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping

from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.models import MODELS
from maestro_env.experiments.search.named_mappers import require_fit
from maestro_env.experiments.search.searches import run_search
from maestro_env.experiments.shell.printing import print_errors
from maestro_env.experiments.shown.progress import Bar
from maestro_env.experiments.shown.tables import Table, significant
from maestro_env.experiments.study.sweep.axes import Sweep
from maestro_env.mappers import make_mapper

_PROBLEMS_WARNED_OF = 1000
# What is measured: problems, the longest search, and what goes before.
_PROBLEMS = 3
_SECONDS = 1.0
_FIRST_SAMPLES = 50
_SECONDS_OF_A_CHUNK = 3.0
_MOST_CHUNKS = 20_000
# Of a mapper, so that there is something for every process of a small sweep.
_LEAST_CHUNKS = 32
_CHUNKS_OF_A_SHARD = 64


def check(sweep: Sweep) -> None:
    """Refuse what cannot be searched, and print what to know before.

    Raises:
        MaestroEnvError: it names what does not fit.
    """
    with Bar("problems checked", sweep.problems) as bar:
        goals = bar.each(sweep.goals(), lambda goal: goal.problem.hardware.name)
        require_fit(sweep.mappers, goals)
    strided = sum(layer.is_strided for layer in sweep.layers)
    warnings = [_warning(sweep, mapper) for mapper in sweep.mappers]
    model = sweep.problem.model
    if strided and MODELS[model].miscounts_strides:
        warnings.append(f"{model} miscounts most mappings of strided layers: {strided} of them")
    print_errors(*(f"warning: {each}" for each in dict.fromkeys(warnings) if each))


def _warning(sweep: Sweep, mapper: str) -> str | None:
    step = math.ceil(sweep.problems / _PROBLEMS_WARNED_OF)
    goals = map(sweep.goal, range(0, sweep.problems, step))
    return make_mapper(mapper).warning((goal.problem, goal.objective) for goal in goals)


def measure(sweep: Sweep) -> dict[str, float]:
    """Return the mean CPU seconds of a cell by mapper, on this machine.

    Each mapper searches three problems from the first to the last. A search that takes more than
    1 s is cut off, and its samples count as if they all took the same. Infinite for a mapper that
    fails.
    """
    problems = {sweep.problems * part // (_PROBLEMS - 1) for part in range(_PROBLEMS)}
    chosen = sorted({min(problem, sweep.problems - 1) for problem in problems})
    seconds = {}
    with Bar("mappers measured", len(sweep.mappers)) as bar:
        for mapper in bar.each(sweep.mappers):
            try:
                # What a mapper loads before its first search is no part of a cell.
                _seconds(sweep, chosen[0], mapper, min(sweep.samples, _FIRST_SAMPLES))
                times = [_seconds(sweep, problem, mapper, sweep.samples) for problem in chosen]
                seconds[mapper] = sum(times) / len(times)
            except (Exception, SystemExit):  # noqa: BLE001 (the sweep will tell of the failure)
                seconds[mapper] = math.inf
    return seconds


class _EnoughError(Exception):
    """A search has been measured for long enough."""


def _seconds(sweep: Sweep, problem: int, mapper: str, samples: int) -> float:
    """Return what a search takes, or would take if it is cut off."""
    began = time.process_time()

    def stop(evaluator: Evaluator) -> None:
        if time.process_time() - began > _SECONDS:
            raise _EnoughError

    goal = sweep.goal(problem)
    evaluator = Evaluator(goal.problem, goal.objective, samples, on_batch=stop)
    try:
        run_search(evaluator, mapper, sweep.seed)
        share = 1.0
    except _EnoughError:
        share = evaluator.used / samples
    return (time.process_time() - began) / share


def plan_chunks(sweep: Sweep, shards: int | None = None) -> dict[str, int]:
    """Return the cells of a chunk by mapper.

    Of a sweep in shards they are the same on all machines, which share no files; else they follow
    from the seconds that a cell takes here.
    """
    if shards is None:
        return chunk_sizes(sweep, measure(sweep))
    size = max(sweep.cells_of_mapper // (shards * _CHUNKS_OF_A_SHARD), 1)
    return dict.fromkeys(sweep.mappers, size)


def chunk_sizes(sweep: Sweep, seconds: Mapping[str, float]) -> dict[str, int]:
    """Return the cells of a chunk by mapper, from the seconds that a cell takes.

    A chunk takes about 3 s, so that claim and record take little of it: more where there would be
    more than 20,000 chunks, less where a mapper would have fewer than 32.
    """
    least = math.ceil(sweep.cells / _MOST_CHUNKS)
    most = math.ceil(sweep.cells_of_mapper / _LEAST_CHUNKS)
    return {
        mapper: max(least, min(int(_SECONDS_OF_A_CHUNK / seconds[mapper]), most), 1)
        for mapper in sweep.mappers
    }


def print_plan(sweep: Sweep) -> None:
    """Print the cells and chunks of a sweep, and the core-hours they take."""
    seconds, cells = measure(sweep), sweep.cells_of_mapper
    sizes = chunk_sizes(sweep, seconds)
    rows = [
        (
            mapper,
            f"{cells:,}",
            f"{math.ceil(cells / sizes[mapper]):,}",
            significant(seconds[mapper], 3),
            significant(cells * seconds[mapper] / 3600, 3),
        )
        for mapper in sweep.mappers
    ]
    total = cells * sum(seconds.values()) / 3600
    _, layers, hardware, objectives, seeds = sweep.shape
    title = (
        f"{sweep.cells:,} cells: {layers} layers x {hardware} accelerators x {objectives} "
        f"objectives x {len(sweep.mappers)} mappers x {seeds} seeds"
    )
    note = (
        f"{significant(total, 3)} core-hours, from a few short searches on this machine. "
        "A mapper without an estimate failed in them."
    )
    columns = ("cells", "chunks", "CPU seconds\nper cell", "core-hours")
    Table(title, ("mapper",), columns, rows, note).print()
