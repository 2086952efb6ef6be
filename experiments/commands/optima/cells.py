"""The searches that a sweep over layers, accelerators and objectives asks for."""

from __future__ import annotations

from itertools import product

from maestro_env.accelerators.hardware import PRESETS
from maestro_env.base.registry import look_up
from maestro_env.experiments.commands.optima.flags import Config
from maestro_env.experiments.proving.many import OptimumCell
from maestro_env.experiments.search.goals import ProblemConfig, make_goal, unique
from maestro_env.optimum.search import require_bounded
from maestro_env.workloads.finding import all_layers, find_layer
from maestro_env.workloads.layer import Layer


def cells_of(config: Config) -> list[OptimumCell]:
    """Look up every cell that a config asks for.

    Raises:
        MaestroEnvError: an unknown name, or a goal whose optimum cannot be proven.
    """
    named = all_layers() if config.layers == "all" else map(find_layer, _names(config.layers))
    shapes: dict[str, Layer] = {}
    for layer in named:
        shapes.setdefault(layer.shape, layer)
    hardware = [look_up("hardware", name, PRESETS) for name in _names(config.hardware)]
    flags = ProblemConfig(schema=config.schema)
    cells = []
    for layer, machine, objective in product(shapes.values(), hardware, _names(config.objectives)):
        nameless = Layer(layer.operator, layer.extents, layer.stride)
        goal = make_goal(flags, nameless, machine, objective)
        require_bounded(goal.require("levels"), goal.objective)
        cells.append(OptimumCell(goal, layer.name))
    return cells


def _names(text: str) -> tuple[str, ...]:
    return unique(text.split(","))
