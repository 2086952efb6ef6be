"""The score of one mapping under every cost model."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator

from experiments.evaluate.config import EvaluateConfig
from experiments.flags import UsageError
from experiments.mapping_files import read_mapping
from experiments.sheets import Sheet
from maestro_env.errors import ModelError
from maestro_env.hardware import find_hardware
from maestro_env.map_space import MapSpace
from maestro_env.mapping import Mapping
from maestro_env.models import MODELS
from maestro_env.objectives import OBJECTIVES
from maestro_env.problem import Problem
from maestro_env.workloads import find_layer

# Numbers from here on are shown with an exponent.
_LARGE = 1e9
_OTHER_FIGURES = {
    "l1_bytes": "L1 of a PE\n(bytes)",
    "l2_bytes": "L2\n(bytes)",
    "macs_per_cycle": "MACs/cycle",
}


def execute(config: EvaluateConfig) -> int:
    """Read, evaluate, print, and return the exit status."""
    hardware = find_hardware(config.hardware)
    given = None if config.layer is None else find_layer(config.layer)
    found = read_mapping(config.file)
    mapping = found.mapping
    if (layer := given or found.layer) is None:
        raise UsageError(f"{config.file} names no layer: give one with --layer")
    space = MapSpace(layer, hardware)
    problems = list(_problems(space))
    print(f"{mapping}\n")
    headers = [f"{each.name}\n({each.unit})" for each in OBJECTIVES.values()]
    headers += _OTHER_FIGURES.values()
    rows = [(problem.model, *_score(problem, mapping)) for problem in problems]
    title = f"{layer} ({layer.operator} {layer.dimensions}) on {hardware.name}"
    Sheet(title, ("model", "status"), headers, rows).print()
    for problem in problems:
        print(f"{problem.model}: {problem.explain(mapping)}")
    return 0


def _problems(space: MapSpace) -> Iterator[Problem]:
    """Yield a problem for each model that this build has."""
    for model in MODELS:
        try:
            problem = Problem(space, model)
        except ModelError as error:
            print(f"note: {error}", file=sys.stderr)
            continue
        if warning := problem.stride_warning():
            print(f"warning: {warning}", file=sys.stderr)
        yield problem


def _score(problem: Problem, mapping: Mapping) -> Iterator[str]:
    """Yield the status of a mapping, and its figures if it has any."""
    cost, status = problem.evaluate_mapping(mapping)
    yield status
    if cost is None:
        return
    figures = cost.figures()
    values = [each.of(figures) for each in OBJECTIVES.values()]
    for value in (*values, *(figures.get(name, math.nan) for name in _OTHER_FIGURES)):
        yield _shown(value)


def _shown(value: float) -> str:
    if math.isnan(value):
        return ""
    return f"{value:,.0f}" if 1000 <= value < _LARGE else f"{value:.4g}"
