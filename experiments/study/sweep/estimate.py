"""What is to know of a sweep before it runs: that it can, and how long its cells take."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator

from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.models import find_model
from maestro_env.experiments.search.goals import Goal
from maestro_env.experiments.search.named_mappers import require_fit
from maestro_env.experiments.search.searches import run_search
from maestro_env.experiments.shell.printing import print_errors
from maestro_env.experiments.shown.progress import Bar
from maestro_env.experiments.study.sweep.axes import Sweep
from maestro_env.mappers import make_mapper

_PROBLEMS = 3
_SECONDS = 1.0
_FIRST_SAMPLES = 50


class _EnoughError(Exception):
    """A search has been measured for long enough."""


def seconds_of_cells(sweep: Sweep, show: Callable[[float, str], None]) -> dict[str, float]:
    """Return the mean CPU seconds of a cell by mapper, on this machine.

    Each mapper searches three problems from the first to the last. A search that takes more than
    1 s is cut off, and its samples count as if they all took the same. Infinite for a mapper that
    fails.

    ``show`` takes the number of mappers measured.
    """
    problems = {sweep.problems * part // (_PROBLEMS - 1) for part in range(_PROBLEMS)}
    chosen = sorted({min(problem, sweep.problems - 1) for problem in problems})
    seconds = {}
    for index, mapper in enumerate(sweep.mappers):
        show(index, mapper)
        try:
            # What a mapper loads before its first search is no part of a cell.
            _seconds(sweep, chosen[0], mapper, min(sweep.samples, _FIRST_SAMPLES))
            times = [_seconds(sweep, problem, mapper, sweep.samples) for problem in chosen]
            seconds[mapper] = sum(times) / len(times)
        except (Exception, SystemExit):  # noqa: BLE001 (the sweep will tell of the failure)
            seconds[mapper] = math.inf
    return seconds


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


_PROBLEMS_WARNED_OF = 1000


def check(sweep: Sweep) -> None:
    """Refuse what cannot be searched, and print what to know before.

    Raises:
        MaestroEnvError: it names what does not fit.
    """
    with Bar("problems checked", sweep.problems) as bar:
        require_fit(sweep.mappers, _counted(sweep, bar.show))
    strided = sum(layer.is_strided for layer in sweep.layers)
    warnings = [_of_mapper(sweep, mapper) for mapper in sweep.mappers]
    model = sweep.problem.model
    if strided and find_model(model).miscounts_strides:
        warnings.append(f"{model} miscounts most mappings of strided layers: {strided} of them")
    print_errors(*(f"warning: {each}" for each in dict.fromkeys(warnings) if each))


def _counted(sweep: Sweep, show: Callable[[float, str], None]) -> Iterator[Goal]:
    """Make the goals of all problems; ``show`` takes how many there were before."""
    for index, goal in enumerate(sweep.goals()):
        show(index, goal.problem.hardware.name)
        yield goal


def measure(sweep: Sweep) -> dict[str, float]:
    """Return the CPU seconds of a cell by mapper."""
    with Bar("mappers measured", len(sweep.mappers)) as bar:
        return seconds_of_cells(sweep, bar.show)


def _of_mapper(sweep: Sweep, mapper: str) -> str | None:
    step = math.ceil(sweep.problems / _PROBLEMS_WARNED_OF)
    goals = map(sweep.goal, range(0, sweep.problems, step))
    return make_mapper(mapper).warning((goal.problem, goal.objective) for goal in goals)
