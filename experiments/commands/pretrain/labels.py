"""Labels: what is best for a training problem, and what is nearly as good.

A file of labels has a line of JSON for each, compressed by gzip. Files joined end to end are one.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.commands.pretrain.near_optima import NearEvaluator
from experiments.shell.files import RecordError, cannot_read, replacing
from maestro_env.accelerators.hardware import Hardware
from maestro_env.base.errors import TooLongError
from maestro_env.base.reading import open_bytes, read_lines
from maestro_env.environments.task import Task
from maestro_env.evaluation.objectives import OBJECTIVES, find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.space import MapSpace, Points
from maestro_env.optimum.known import known_optimum, layer_text
from maestro_env.optimum.search import OptimumError, OptimumSearch, require_bounded
from maestro_env.workloads.layer import Layer
from mappers import make_mapper
from mappers.parts.arrays import Floats

FORMAT = "maestro-env/labels/1"
SUFFIX = ".jsonl.gz"

MOST_POINTS = 16
"""Near-optima of a label at most."""

_START = 1000
# About three seconds, of which a mapping that is evaluated takes as long as five boxes.
_MOST_BOXES = 3_000_000
_BOXES_OF_A_SAMPLE = 5
_BOXES_BETWEEN_LOOKS = 100_000
_ROUNDS = 2
_MAX_LINE = 2**20


@dataclass(frozen=True, eq=False)
class Label:
    """The best mappings of a problem.

    Args:
        task: problem and objective.
        bound: no mapping has a lower value.
        points: the best vector, then others that are at most 3 % worse, int32[k, D].
        values: of the vectors, ascending, float64[k].
    """

    task: Task
    bound: float
    points: Points
    values: Floats

    @property
    def value(self) -> float:
        """The least value known."""
        return float(self.values[0])

    @property
    def proven(self) -> bool:
        """Whether no mapping has a lower value."""
        return self.value == self.bound


def make_label(task: Task, rng: np.random.Generator) -> Label | None:
    """Search for the best mappings; None if there are no proofs of such problems, or no mapping.

    It takes ``ga_log`` to start with, then the search for the optimum with a limit of boxes, then
    the neighbours of the best mappings. So the label depends on the random stream alone.
    """
    problem, objective = task.problem, task.objective
    try:
        require_bounded(problem, objective)
    except OptimumError:
        return None
    evaluator = NearEvaluator(problem, objective)
    make_mapper("ga_log").search(evaluator, _START, rng)
    known = known_optimum(problem, objective)
    if known:
        evaluator.evaluate(known.point[np.newaxis])
    evaluator.descend()
    search = OptimumSearch(problem, objective)
    search.begin_with(evaluator.best)
    spent = 0
    while not search.finished and spent < _MOST_BOXES:
        points = search.ask(_BOXES_BETWEEN_LOOKS)
        search.tell(points, evaluator.evaluate(points).values)
        spent = search.nodes + _BOXES_OF_A_SAMPLE * evaluator.used
    bound = max(search.bound, known.bound if known else 0.0)
    for _ in range(_ROUNDS):
        evaluator.look_around(MOST_POINTS)
    points, values = evaluator.near(MOST_POINTS)
    return Label(task, bound, points, values) if len(points) else None


def write_labels(path: Path, labels: Iterable[Label]) -> None:
    """Write a file of labels, or replace it; the same labels make the same bytes."""
    lines = "".join(f"{json.dumps(_entry(label), allow_nan=False)}\n" for label in labels)
    with replacing(path) as temporary:
        temporary.write_bytes(gzip.compress(lines.encode(), mtime=0))


def read_labels(path: Path) -> list[Label]:
    """Read a file of labels, or all files of a directory.

    Raises:
        RecordError: none there, or a file that is damaged or does not hold labels.
    """
    paths = sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else [path]
    if not paths:
        raise RecordError(f"cannot read {path}: no file *{SUFFIX} there")
    return [label for each in paths for label in _read(each)]


def labels_digest(labels: Iterable[Label]) -> str:
    """Return the digest of labels, in hexadecimal digits."""
    lines = (json.dumps(_entry(label), allow_nan=False) for label in labels)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def without(labels: Iterable[Label], held: frozenset[str]) -> list[Label]:
    """Return the labels of layers of which none has a held shape (``layer_text``)."""
    return [each for each in labels if layer_text(each.task.problem.layer) not in held]


def _read(path: Path) -> Iterator[Label]:
    try:
        with open_bytes(path) as file:
            if not file.peek(1):
                raise EOFError("it is empty")
            lines = read_lines(gzip.GzipFile(fileobj=file), _MAX_LINE)
            for number, line in enumerate(lines, 1):
                yield _read_line(line, f"{path}, line {number}")
    except (OSError, EOFError, TooLongError, zlib.error) as error:
        raise cannot_read(path, error) from None


def _read_line(line: bytes, where: str) -> Label:
    try:
        return _label(json.loads(line))
    except (LookupError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise RecordError(f"{where} is no label: {error}; delete it and make it again") from None


def _entry(label: Label) -> dict[str, Any]:
    problem = label.task.problem
    layer = problem.layer
    return {
        "format": FORMAT,
        "layer": {
            "operator": layer.operator,
            "extents": dict(layer.extents),
            "stride": layer.stride,
        },
        "hardware": problem.hardware.record(),
        "schema": problem.space.schema,
        "factors": label.task.objective.factors,
        "bound": label.bound,
        "points": label.points.tolist(),
        "values": label.values.tolist(),
    }


def _label(entry: dict[str, Any]) -> Label:
    if entry["format"] != FORMAT:
        raise ValueError(f"its format is {entry['format']!r}, not {FORMAT!r}")
    layer = Layer(**{**entry["layer"], "stride": tuple(entry["layer"]["stride"])})
    problem = Problem(MapSpace(layer, Hardware(**entry["hardware"]), entry["schema"]))
    factors = tuple(entry["factors"])
    named = {each.factors: each for each in OBJECTIVES.values()}
    objective = named.get(factors) or find_objective("*".join(factors))
    points = problem.space.as_points(entry["points"], len(entry["points"]))
    values, _ = problem.score(points, objective)
    if values.tolist() != entry["values"] or values.tolist() != sorted(values):
        raise ValueError("its mappings have other values")
    bound = entry["bound"]
    if not 0 <= bound <= values[0] < math.inf:
        raise ValueError(f"its bound is {bound!r}, its best value {values[0]}")
    return Label(Task(problem, objective), bound, points, values)
