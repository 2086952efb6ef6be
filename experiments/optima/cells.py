"""The searches that a sweep over layers, accelerators and objectives asks for."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path

from experiments.files import distinct_name
from experiments.goals import Goal, ProblemConfig, make_goal, unique
from experiments.optima.config import OptimaConfig
from maestro_env.hardware import PRESETS
from maestro_env.layer import Layer
from maestro_env.optima import layer_text
from maestro_env.optimum import require_bounded
from maestro_env.registry import look_up
from maestro_env.workloads import all_layers, find_layer


@dataclass(frozen=True)
class OptimumCell:
    """The optimum to find of one goal.

    Args:
        goal: of a layer without a name.
        layer: the first name of a layer of this shape, for people.
    """

    goal: Goal
    layer: str

    def __str__(self) -> str:
        return f"{self.layer} on {self.goal.problem.hardware.name}, {self.goal.objective.name}"

    def path(self, directory: Path) -> Path:
        """Return where a directory keeps its record."""
        problem = self.goal.problem
        name = f"{problem.hardware.name}-{problem.space.schema}-{self.goal.objective.name}.json"
        return directory / "cells" / distinct_name(layer_text(problem.layer)) / name


def cells_of(config: OptimaConfig) -> list[OptimumCell]:
    """Look up every cell that a config asks for.

    Raises:
        MaestroEnvError: an unknown name, or a goal whose optimum cannot be proven.
    """
    named = all_layers() if config.layers == "all" else map(find_layer, _names(config.layers))
    shapes: dict[str, Layer] = {}
    for layer in named:
        shapes.setdefault(layer_text(layer), layer)
    hardware = [look_up("hardware", name, PRESETS) for name in _names(config.hardware)]
    flags = ProblemConfig(schema=config.schema)
    cells = []
    for layer, machine, objective in product(shapes.values(), hardware, _names(config.objectives)):
        nameless = Layer(layer.operator, layer.extents, layer.stride)
        goal = make_goal(flags, nameless, machine, objective)
        require_bounded(goal.problem, goal.objective)
        cells.append(OptimumCell(goal, layer.name))
    return cells


def _names(text: str) -> tuple[str, ...]:
    return unique(text.split(","))
