"""``maestro-env explain``: show why a mapping costs what it does and how to improve it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from maestro_env.evaluation.objectives import OBJECTIVE_HELP, Objective, find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.experiments.search.mapping_files import (
    MappingConfig,
    is_nest,
    read_mapped,
    read_nest_mapped,
    recorded_objective,
)
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
from maestro_env.explanation.pictures import port_figure, time_figure, traffic_figure
from maestro_env.explanation.rendering import picture


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
    explanation = (_explained_nest if is_nest(config) else _explained)(config)
    directory = None if config.out is None else Path(config.out)
    if directory:
        ensure_directory(directory)
    print_lines(*str(explanation).split("\n"))
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


def _explained_nest(config: Config) -> HierarchyExplanation:
    """Explain a mapping on an accelerator with any memories."""
    objective = _objective(config)
    mapping, problem = read_nest_mapped(config)
    return explain_hierarchy(problem.space.evaluator, mapping, objective)


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
