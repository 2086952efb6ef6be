"""Problems held out of training with their proven optima, and labels of training problems."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maestro_env.accelerators.accelerator import Accelerator
from maestro_env.accelerators.hardware import Hardware
from maestro_env.base.errors import TooLongError
from maestro_env.base.reading import open_bytes, read_lines
from maestro_env.environments.task import Task
from maestro_env.evaluation.any_problem import AnyProblem
from maestro_env.evaluation.objectives import Objective, find_objective
from maestro_env.evaluation.problem import Problem, require
from maestro_env.experiments.proving.many import OptimumCell, Proof, unfinished
from maestro_env.experiments.search.goals import ProblemConfig, make_goal
from maestro_env.experiments.shell import cli
from maestro_env.experiments.shell.files import (
    RecordError,
    cannot_read,
    ensure_directory,
    user_cache,
    write_bytes,
)
from maestro_env.experiments.store.records import made_here
from maestro_env.experiments.store.running import run_records
from maestro_env.mappers.parts.arrays import Floats
from maestro_env.mapspace.space import Points
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.models import accelerator_record
from maestro_env.optimum.known import KnownOptimum, optimum_in_table
from maestro_env.optimum.solving import Limits
from maestro_env.workloads.layer import Layer

FORMAT = "maestro-env/labels/1"
SUFFIX = ".jsonl.gz"

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


def write_labels(path: Path, labels: Iterable[Label]) -> None:
    """Write a file of labels, or replace it; the same labels make the same bytes."""
    lines = "".join(f"{_line(label)}\n" for label in labels)
    write_bytes(path, gzip.compress(lines.encode(), mtime=0))


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
    return hashlib.sha256("\n".join(map(_line, labels)).encode()).hexdigest()


def _read(path: Path) -> Iterator[Label]:
    try:
        with open_bytes(path) as file:
            if not file.peek(1):
                raise EOFError("it is empty")
            lines = read_lines(gzip.GzipFile(fileobj=file), _MAX_LINE)
            for number, line in enumerate(lines, 1):
                yield _label(line, f"{path}, line {number}")
    except (OSError, EOFError, TooLongError, zlib.error) as error:
        raise cannot_read(path, error) from None


def _line(label: Label) -> str:
    problem = require(label.task.problem, "levels", "a label")
    layer = problem.layer
    extents = dict(layer.extents)
    entry = {
        "format": FORMAT,
        "layer": {"operator": layer.operator, "extents": extents, "stride": layer.stride},
        "hardware": problem.hardware.record(),
        "schema": problem.space.schema,
        "factors": label.task.objective.factors,
        "bound": label.bound,
        "points": label.points.tolist(),
        "values": label.values.tolist(),
    }
    return json.dumps(entry, allow_nan=False)


def _label(line: bytes, where: str) -> Label:
    try:
        return _of_entry(json.loads(line))
    except (LookupError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise RecordError(f"{where} is not a label: {error}; delete it and make it again") from None


def _of_entry(entry: dict[str, Any]) -> Label:
    if entry["format"] != FORMAT:
        raise ValueError(f"its format is {entry['format']!r}, not {FORMAT!r}")
    layer = Layer(**{**entry["layer"], "stride": tuple(entry["layer"]["stride"])})
    problem = Problem(MapSpace(layer, Hardware(**entry["hardware"]), entry["schema"]))
    objective = find_objective("*".join(entry["factors"]))
    points = problem.space.as_points(entry["points"], len(entry["points"]))
    values, _ = problem.score(points, objective)
    if values.tolist() != entry["values"] or values.tolist() != sorted(values):
        raise ValueError("its mappings have other values")
    bound = entry["bound"]
    if not 0 <= bound <= values[0] < math.inf:
        raise ValueError(f"its bound is {bound!r}, its best value {values[0]}")
    return Label(Task(problem, objective), bound, points, values)


@dataclass(frozen=True)
class Held(OptimumCell):
    """A problem of a split, for one objective.

    Args:
        network: that is held out, or the split that the problem is of.
    """

    network: str

    @property
    def machine(self) -> str:
        return self.goal.problem.hardware.name

    @property
    def objective(self) -> str:
        return self.goal.objective.name

    @property
    def shape(self) -> str:
        """Of its layer, which no training may have."""
        return self.goal.problem.layer.shape

    @property
    def key(self) -> str:
        """What records call it."""
        return f"{self.shape} | {self.machine} | {self.objective}"

    def described(self) -> dict[str, Any]:
        """Return what it is, as JSON holds it."""
        return {"problem": self.key, **described(self.goal.problem, self.goal.objective)}


Problems = Mapping[str, Sequence[Held]]
"""Held problems by network."""


def described(problem: AnyProblem, objective: Objective) -> dict[str, Any]:
    """Return what a program needs to know of a problem, as JSON holds it.

    A vector has a choice of each parameter: a number from 0, whose meaning is in ``values``.
    """
    layer = problem.layer
    return {
        "layer": {
            "operator": layer.operator,
            "extents": dict(layer.extents),
            "stride": list(layer.stride),
        },
        "hardware": accelerator_record(problem.hardware),
        "objective": objective.name,
        "parameters": [
            {"name": each.name, "kind": each.kind, "values": list(each.values)}
            for each in problem.space.parameters
        ],
    }


def held(network: str, layer: Layer, machine: Accelerator, objective: str) -> Held:
    """Return the problem of a layer."""
    nameless = Layer(layer.operator, layer.extents, layer.stride)
    config = ProblemConfig(model=machine.MODEL)
    return Held(make_goal(config, nameless, machine, objective), layer.name, network)


def known_optima(problems: Iterable[Held], nodes: int) -> dict[str, KnownOptimum]:
    """Return the optimum of every problem by its key; those that no table has are searched.

    What has no valid mapping has no optimum. On any memories what the table has need not be proven:
    to search again finds the same gap. The user's cache keeps the searches: one goes on where
    another has ended, and processes share the work.

    Args:
        problems: of one network or several.
        nodes: boxes of mappings after which a search ends without its proof.

    Raises:
        RecordError: a search has failed; why is printed.
    """
    found: dict[str, KnownOptimum] = {}
    missing: dict[str, Held] = {}
    for each in problems:
        known = optimum_in_table(each.goal.problem, each.goal.objective)
        if known is not None and (known.proven or "levels" not in each.goal.problem.abilities):
            found[each.key] = known
        else:
            missing.setdefault(each.key, each)
    if not missing:
        return found
    directory = user_cache() / "proofs"
    ensure_directory(directory)
    limits, here = Limits(nodes=nodes), made_here()
    proofs = {
        key: Proof(each, limits, certified=False, directory=directory, versions=here)
        for key, each in missing.items()
    }
    left = unfinished(proofs.values())
    status = run_records(left, before=len(proofs) - len(left))
    if status == cli.INTERRUPTED:
        raise KeyboardInterrupt
    if status:
        raise RecordError(f"an optimum in {directory} could not be proven; the line above says why")
    for key, proof in proofs.items():
        if optimum := proof.kept.found.optimum:
            found[key] = optimum
    return found
