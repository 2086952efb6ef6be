"""Known optima: the least cost of the zoo's layers, found and proven (docs/optimum.md).

On chips with all their memories they are the best mappings known, with certified bounds.

``table.csv`` beside this file has a line for every problem and objective;
``maestro-env optima --write`` makes it.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maestro_env.accelerators.accelerator import HELD, HELD_HARDWARE, Accelerator
from maestro_env.accelerators.finding import chips_with, find_hardware, find_hierarchy
from maestro_env.accelerators.hardware import PRESETS, Hardware
from maestro_env.accelerators.pricing import with_usual_energies
from maestro_env.base.checks import by_name
from maestro_env.base.errors import ArgumentTypeError, quoted
from maestro_env.evaluation.any_problem import AnyProblem
from maestro_env.evaluation.objectives import Objective, find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.space import Points
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.finding import find_layer
from maestro_env.workloads.layer import Layer

TABLE = Path(__file__).with_name("table.csv")
KEY = ("layer", "hardware", "schema", "tiles", "objective")
"""Columns that name a problem and an objective; hardware as ``accelerator_named`` takes it.

Where accelerators have any memories, there is but one schema, without a name.
"""

COLUMNS = (*KEY, "value", "bound", "point", "nodes", "seconds", "certificate")

_Key = tuple[str, str, str, tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class KnownOptimum:
    """The least value of an objective that is known of a problem.

    Args:
        value: of the best mapping known, in the objective's unit.
        point: its vector, int32[D].
        bound: no mapping has a lower value; equal to ``value`` if that is proven to be least.
        seconds: the search took, without its certificate.
        nodes: boxes of mappings whose bound it computed.
        certificate: sha256 digest of the proof in a file; empty without one.
    """

    value: float
    point: Points
    bound: float
    seconds: float
    nodes: int
    certificate: str = ""

    @property
    def gap(self) -> float:
        """How far the value is above the bound, as a share of the bound."""
        return self.value / self.bound - 1

    def regret(self, values: float | NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how far values are above the optimum, as a share of it; at most, if not proven."""
        return np.maximum(np.asarray(values) / self.bound - 1, 0)

    @property
    def proven(self) -> bool:
        """Whether no mapping has a lower value."""
        return self.value == self.bound


def known_optimum(
    problem: AnyProblem | Layer | str,
    objective: Objective | str,
    hardware: Hardware | str | None = None,
) -> KnownOptimum | None:
    """Return the optimum of a problem from the table; None if the table does not have it.

    It is looked up by what decides it: model, schema, tiles, the layer's shape, the hardware's
    figures and the objective's factors. Names do not matter. Chips with all their memories are
    there with the energies that commands give them.

    Args:
        problem: or a layer, as ``find_layer`` takes it, which stands for the problem that
            ``MaestroEnv`` makes of it by default.
        objective: as ``find_objective`` takes it.
        hardware: of a layer, as ``find_hardware`` takes it; None for ``unlimited``.

    Raises:
        ArgumentTypeError: an argument of a wrong type, or hardware together with a problem, which
            has its own.
        MaestroEnvError: no such layer, hardware or objective.
    """
    objective = find_objective(objective)
    if isinstance(problem, str | Layer):
        found = find_hardware("unlimited" if hardware is None else hardware)
        return optimum_in_table(Problem(MapSpace(find_layer(problem), found)), objective)
    if hardware is not None:
        raise ArgumentTypeError(
            f"hardware is {quoted(hardware)}; allowed: None, as the problem has its own"
        )
    return optimum_in_table(problem, objective)


def optimum_in_table(problem: AnyProblem, objective: Objective) -> KnownOptimum | None:
    """Return what ``known_optimum`` does of a problem and an objective."""
    if "known" not in problem.abilities:
        return None
    space: Any = problem.space
    key = _key(problem.layer.shape, problem.schema, space.tiles, objective)
    deciding = problem.hardware.deciding
    alike = (
        each
        for each in _table().get(key, ())
        if accelerator_named(each["hardware"]).deciding == deciding
    )
    if (row := next(alike, None)) is None:
        return None
    return KnownOptimum(
        value=float(row["value"]),
        point=np.array(row["point"].split(), dtype=np.int32),
        bound=float(row["bound"]),
        seconds=float(row["seconds"]),
        nodes=int(row["nodes"]),
        certificate=row["certificate"],
    )


def known_values(problem: AnyProblem, objective: Objective) -> tuple[float, float]:
    """Return value and bound of the known optimum; NaN where nothing is known."""
    known = optimum_in_table(problem, objective)
    return (math.nan, math.nan) if known is None else (known.value, known.bound)


def read_table() -> list[dict[str, str]]:
    """Return the lines of the table, texts by column."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


def accelerator_named(name: str) -> Accelerator:
    """Return the accelerator that a line of the table names.

    It is a preset, the one that is held out of training, or a chip with energies.
    """
    if name == HELD:
        return _held()
    return PRESETS[name] if name in PRESETS else _chips()[name]


@cache
def _held() -> Hardware:
    return replace(find_hardware(HELD_HARDWARE), name=HELD)


@cache
def _chips() -> Mapping[str, Accelerator]:
    return by_name(*(with_usual_energies(find_hierarchy(name)) for name in chips_with("memories")))


@cache
def _table() -> Mapping[_Key, Sequence[dict[str, str]]]:
    """Return lines of all accelerators; chips are read only for a problem that may be theirs."""
    found: dict[_Key, list[dict[str, str]]] = {}
    for row in read_table():
        objective = find_objective(row["objective"])
        key = _key(row["layer"], row["schema"], row["tiles"], objective)
        found.setdefault(key, []).append(row)
    return found


def _key(layer: str, schema: str, tiles: str, objective: Objective) -> _Key:
    return layer, schema, tiles, tuple(sorted(objective.factors))
