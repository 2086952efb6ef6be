"""``maestro-env explain``: show why a mapping costs what it does and how to improve it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from experiments.search.mapping_config import MappingConfig
from experiments.search.mapping_files import (
    is_nest,
    read_mapped,
    read_nest_mapped,
    recorded_objective,
)
from experiments.shell.files import ensure_directory, replacing
from experiments.shell.flags import UsageError, option
from experiments.shown.plots import save
from maestro_env.base.errors import printable
from maestro_env.evaluation.objectives import OBJECTIVE_HELP, find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.explanation import Explanation, explain_hierarchy, explain_mapping
from maestro_env.explanation.pictures import time_figure, traffic_figure
from maestro_env.explanation.rendering import picture


@dataclass(frozen=True)
class Config(MappingConfig):
    """Show why a mapping costs what it does, and under the model exact how to improve it."""

    objective: str | None = option(
        None, f"judges other mappings: {OBJECTIVE_HELP} (default: that of FILE, or edp)"
    )
    out: str | None = option(
        None, "where to write pictures of PEs, traffic and time", value="directory"
    )


def execute(config: Config) -> int:
    """Read, explain, print, draw, and return the exit status."""
    if is_nest(config):
        return _explain_nest(config)
    objective = find_objective(config.objective or recorded_objective(Path(config.file)) or "edp")
    mapping, space = read_mapped(config)
    explanation = explain_mapping(Problem(space), mapping, objective)
    if config.out is not None:
        _draw(explanation, Path(config.out))
    print(explanation)
    if config.out is not None:
        print()
        print(printable(f"pictures: {config.out}"))
    return 0


def _explain_nest(config: Config) -> int:
    """Explain a mapping on an accelerator with any memories."""
    if config.objective is not None or config.out is not None:
        raise UsageError("--objective and --out: allowed for mappings of two levels")
    mapping, problem = read_nest_mapped(config)
    print(explain_hierarchy(problem.space.evaluator, mapping))
    return 0


def _draw(explanation: Explanation, directory: Path) -> None:
    """Write the pictures."""
    from matplotlib.image import imsave

    ensure_directory(directory)
    problem = explanation.problem
    pes = picture(explanation.mapping, problem.hardware, problem.layer)
    with replacing(directory / "pes.png") as temporary:
        imsave(temporary, pes, format="png")
    save(traffic_figure(explanation), directory / "traffic.png")
    save(time_figure(explanation), directory / "time.png")
