"""The score of one mapping under every cost model."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path

from experiments.evaluate.config import EvaluateConfig
from experiments.flags import UsageError
from experiments.sheets import Sheet
from maestro_env.errors import MappingError, ModelError
from maestro_env.hardware import find_hardware
from maestro_env.layer import Layer
from maestro_env.m_file import parse
from maestro_env.map_space import MapSpace
from maestro_env.mapping import Mapping
from maestro_env.models import MODELS
from maestro_env.objectives import OBJECTIVES
from maestro_env.problem import Problem
from maestro_env.reading import read_text
from maestro_env.workloads import find_layer

_MAX_CHARACTERS = 2**24
# A loop nest is as wide as it is deep.
_MAX_ENTRIES = 1000
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
    mapping, own = _read(config.file)
    if (entries := len(mapping.directives)) > _MAX_ENTRIES:
        raise MappingError(
            f"{config.file} has {entries:,} loops and clusters; allowed: at most {_MAX_ENTRIES:,}"
        )
    if (layer := given or own) is None:
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


def _read(file: str) -> tuple[Mapping, Layer | None]:
    """Return the mapping in a file, and the layer if the file has one."""
    path = Path(file)
    if path.suffix not in (".m", ".json"):
        raise UsageError(f"{file}: allowed: a file whose name ends in .m or .json")
    try:
        text = read_text(path, _MAX_CHARACTERS)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise MappingError(f"cannot read {file}: {reason}") from None
    if path.suffix == ".json":
        return Mapping.from_json(text, file), None
    mapping = Mapping.from_m(text, file)
    (layer,) = parse(text).layers
    strides = {"Y": 1, "X": 1, **dict(layer.strides)}
    stride = (strides["Y"], strides["X"])
    return mapping, Layer(layer.operator, dict(layer.extents), stride, layer.name)


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
