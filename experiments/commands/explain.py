"""``maestro-env explain``: show why a mapping costs what it does and how to improve it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from maestro_env.base.errors import MapSpaceError
from maestro_env.evaluation.objectives import OBJECTIVE_HELP, Objective, find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.experiments.proving.proof import recorded_optimum
from maestro_env.experiments.search.goals import Goal
from maestro_env.experiments.search.mapping_files import (
    MappingConfig,
    is_nest,
    read_mapped,
    read_nest_mapped,
    recorded_objective,
)
from maestro_env.experiments.search.printed_result import above_optimum, found_line
from maestro_env.experiments.shell.files import ensure_directory, replacing
from maestro_env.experiments.shell.flags import UsageError, option, svg_option
from maestro_env.experiments.shell.printing import print_lines
from maestro_env.experiments.shown.plots import drawn, save
from maestro_env.explanation import (
    Explanation,
    HierarchyExplanation,
    explain_hierarchy,
    explain_mapping,
)
from maestro_env.explanation.rendering import picture, port_figure, time_figure, traffic_figure
from maestro_env.mapspace.space import Points
from maestro_env.optimum.known import optimum_in_table


@dataclass(frozen=True)
class Config(MappingConfig):
    """Show why a mapping costs what it does, and under the model exact how to improve it."""

    objective: str | None = option(
        None, f"judges other mappings: {OBJECTIVE_HELP} (default: that of FILE, or edp)"
    )
    out: str | None = option(
        None,
        "where to write pictures of traffic and time, and of PEs under the model exact",
        value="directory",
    )
    svg: bool = svg_option()


def execute(config: Config) -> int:
    """Read, explain, print, draw, and return the exit status."""
    above, explanation = _explained_nest(config) if is_nest(config) else ("", _explained(config))
    directory = None if config.out is None else Path(config.out)
    if directory:
        ensure_directory(directory)
    print_lines(*((above, "") if above else ()), *str(explanation).split("\n"))
    if directory and drawn(lambda: _draw(explanation, directory, config.svg)):
        print_lines("", f"pictures: {directory}")
    return 0


def _explained(config: Config) -> Explanation:
    """Explain a mapping of two levels."""
    objective = _objective(config)
    (mapping, space), *others = read_mapped(config)
    if others:
        raise UsageError(f"{config.file} has several layers; give a file with one, or use evaluate")
    return explain_mapping(Problem(space), mapping, objective or "edp")


def _explained_nest(config: Config) -> tuple[str, HierarchyExplanation]:
    """Say how close a mapping on any memories is to the optimum, if that is known; explain it."""
    objective = _objective(config)
    mapping, problem = read_nest_mapped(config)
    explanation = explain_hierarchy(problem.space.evaluator, mapping, objective)
    judge = objective or find_objective(explanation.objective)
    try:
        points = problem.space.encode(mapping)[np.newaxis]
    except MapSpaceError:
        return "", explanation  # Bounds are of the space, which lacks it.
    goal = Goal(problem, judge, problem.bound(judge))
    return _above(goal, points, Path(config.file) / "optimum.json"), explanation


def _above(goal: Goal, points: Points, path: Path) -> str:
    """Say how far a vector is above the optimum, by the table or by the record of a proof."""
    recorded, known = recorded_optimum(goal, path), optimum_in_table(goal.problem, goal.objective)
    best = max(filter(None, (known, recorded)), key=lambda each: each.bound, default=None)
    if best is None:
        return ""
    value = float(goal.problem.score(points, goal.objective)[0][0])
    says = ", as its record says" if best is recorded else ""
    return found_line(goal.objective, value, above_optimum(value, best, None) + says)


def _objective(config: Config) -> Objective | None:
    """Return the objective of the flags or of the run; None where neither says one."""
    name = config.objective or recorded_objective(Path(config.file))
    return None if name is None else find_objective(name)


def _draw(explanation: Explanation | HierarchyExplanation, directory: Path, svg: bool) -> None:
    """Write the pictures."""
    if isinstance(explanation, Explanation):
        _draw_pes(explanation, directory / "pes.png")
        times = time_figure(explanation)
    else:
        times = port_figure(explanation)
    save(traffic_figure(explanation), directory / "traffic.png", svg)
    save(times, directory / "time.png", svg)


def _draw_pes(explanation: Explanation, path: Path) -> None:
    """Write the tiles on the PEs."""
    from matplotlib.image import imsave

    problem = explanation.problem
    pes = picture(explanation.mapping, problem.hardware, problem.layer)
    with replacing(path) as temporary:
        imsave(temporary, pes, format="png")
