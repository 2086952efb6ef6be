"""What is to know of a sweep before it runs: that it can, and how long its cells take."""

from __future__ import annotations

import math

from maestro_env.evaluation.models import find_model
from maestro_env.experiments.shell.printing import print_errors
from maestro_env.experiments.shown.progress import Bar
from maestro_env.experiments.study.sweep.axes import Sweep, check_fit
from maestro_env.experiments.study.sweep.estimate import seconds_of_cells
from maestro_env.mappers import make_mapper

_PROBLEMS_WARNED_OF = 1000


def check(sweep: Sweep) -> None:
    """Refuse what cannot be searched, and print what to know before.

    Raises:
        MaestroEnvError: it names what does not fit.
    """
    with Bar("problems checked", sweep.problems) as bar:
        check_fit(sweep, bar.show)
    strided = sum(layer.is_strided for layer in sweep.layers)
    warnings = [_of_mapper(sweep, mapper) for mapper in sweep.mappers]
    model = sweep.problem.model
    if strided and find_model(model).miscounts_strides:
        warnings.append(f"{model} miscounts most mappings of strided layers: {strided} of them")
    print_errors(*(f"warning: {each}" for each in dict.fromkeys(warnings) if each))


def measure(sweep: Sweep) -> dict[str, float]:
    """Return the CPU seconds of a cell by mapper."""
    with Bar("mappers measured", len(sweep.mappers)) as bar:
        return seconds_of_cells(sweep, bar.show)


def _of_mapper(sweep: Sweep, mapper: str) -> str | None:
    step = math.ceil(sweep.problems / _PROBLEMS_WARNED_OF)
    goals = map(sweep.goal, range(0, sweep.problems, step))
    return make_mapper(mapper).warning((goal.problem, goal.objective) for goal in goals)
