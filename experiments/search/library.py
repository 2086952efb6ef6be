"""Libraries of mapped layers: files that several processes may share, to start searches from."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from maestro_env.accelerators.hardware import Hardware
from maestro_env.base.errors import MaestroEnvError
from maestro_env.evaluation.any_problem import AnyProblem
from maestro_env.evaluation.problem import Problem, require
from maestro_env.evaluation.transfer import Mapped, start_from
from maestro_env.experiments.search.goals import Goal
from maestro_env.experiments.shell.files import (
    RecordError,
    file_digest,
    read_record,
    user_cache,
    write_record,
)
from maestro_env.experiments.store.claims import claimed
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.layer import Layer

_SCHEMA = "maestro-env/library/1"
_ANEW = "delete it to start again"

Key = TypeVar("Key", bound=Hashable)
Start = tuple[tuple[int, ...], ...]
"""Vectors that a search begins with."""


@dataclass(frozen=True, eq=False)
class BestKnown:
    """The best mapping known of a problem for an objective.

    Args:
        mapped: the problem and the vector.
        objective: its factors, names of ``METRICS``.
        value: of the objective, in its unit.
    """

    mapped: Mapped
    objective: tuple[str, ...]
    value: float

    @classmethod
    def of(cls, goal: Goal, point: Sequence[int], value: float) -> BestKnown:
        """Make the entry of what was found for a goal."""
        vector = np.array(point, dtype=np.int32)
        return cls(Mapped(goal.problem, vector), goal.objective.factors, value)

    def to_json(self) -> dict[str, Any]:
        problem = require(self.mapped.problem, "levels", "a library")
        layer, space = problem.layer, problem.space
        return {
            "layer": [layer.operator, dict(layer.extents), list(layer.stride)],
            "hardware": problem.hardware.record() | {"name": ""},
            "space": [space.schema, space.tiles],
            "model": [problem.model, problem.guard],
            "objective": list(self.objective),
            "vector": self.mapped.vector.tolist(),
            "value": self.value,
        }

    @classmethod
    def from_json(cls, entry: dict[str, Any]) -> BestKnown:
        operator, extents, stride = entry["layer"]
        layer = Layer(operator, extents, tuple(stride))
        space = MapSpace(layer, Hardware(**entry["hardware"]), *entry["space"])
        (vector,) = space.as_points([entry["vector"]], 1)
        space.decode(vector)  # It refuses what is out of range.
        problem, value = Problem(space, *entry["model"]), entry["value"]
        if not (isinstance(value, float) and 0 < value < math.inf):
            raise ValueError(f"value is {value!r}")
        objective = tuple(entry["objective"])
        if not all(isinstance(factor, str) for factor in objective):
            raise ValueError(f"objective is {objective!r}")
        return cls(Mapped(problem, vector), objective, value)


def find_library(name: str) -> Path:
    """Return the library that a flag names: a file, or the one in the user's cache.

    Raises:
        RecordError: it names a directory, a pipe or a device.
    """
    path = user_cache() / "library.json" if name == "cache" else Path(name)
    if path.exists() and not path.is_file():
        raise RecordError(f"--library {path}: it is not a regular file; give a file, or a new name")
    return path


def read_library(path: Path) -> list[BestKnown]:
    """Return what a library has; nothing if there is no such file."""
    if not path.exists():
        return []
    found = read_record(path, _ANEW)
    if found.get("schema") != _SCHEMA:
        raise RecordError(f"{path}: schema {found.get('schema')!r}; allowed: {_SCHEMA}; {_ANEW}")
    try:
        return [BestKnown.from_json(each) for each in found["entries"]]
    except (MaestroEnvError, LookupError, TypeError, ValueError) as error:
        raise RecordError(f"{path} is not a library: {error}; {_ANEW}") from None


def add_to_library(path: Path, entries: Iterable[BestKnown]) -> None:
    """Add to a library, or make it; of one problem and objective it keeps the least value."""
    with claimed(path):
        best: dict[str, dict[str, Any]] = {}
        for each in (*read_library(path), *entries):
            entry = each.to_json()
            key = repr([entry[name] for name in entry if name not in ("vector", "value")])
            if key not in best or entry["value"] < best[key]["value"]:
                best[key] = entry
        write_record(path, {"schema": _SCHEMA, "entries": [best[key] for key in sorted(best)]})


def starts_from(name: str, goals: Mapping[Key, Goal]) -> tuple[str, dict[Key, Start]]:
    """Return the digest of the library that a flag names, and what each search begins with.

    Raises:
        RecordError: there is no such library.
    """
    path = find_library(name)
    entries, digest = read_library(path), file_digest(path)  # It refuses what is not there.
    return digest, {key: start_of(goal, entries) for key, goal in goals.items()}


def start_of(goal: Goal, entries: Iterable[BestKnown]) -> Start:
    """Return vectors to start the search for a goal with, from a library's entries.

    Those of another model or objective are left out.
    """
    factors, rules = sorted(goal.objective.factors), _rules(goal.problem)
    fitting = [
        each.mapped
        for each in entries
        if sorted(each.objective) == factors and _rules(each.mapped.problem) == rules
    ]
    return tuple(map(tuple, start_from(goal.problem, fitting).tolist()))


def _rules(problem: AnyProblem) -> tuple[str, bool]:
    """Return the model of a problem, and whether it is guarded."""
    return problem.model, problem.guarded
