"""Known optima: the least cost of the zoo's layers, found and proven (docs/optimum.md).

``table.csv`` beside this file has a line for every problem and objective;
``maestro-env optima --write`` makes it.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from functools import cache
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from maestro_env.accelerators.finding import find_hardware
from maestro_env.accelerators.hardware import PRESETS, Hardware
from maestro_env.base.errors import ArgumentTypeError, quoted
from maestro_env.evaluation.any_problem import AnyProblem
from maestro_env.evaluation.objectives import Objective, find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.space import MapSpace, Points
from maestro_env.workloads.finding import find_layer
from maestro_env.workloads.layer import Layer

TABLE = Path(__file__).with_name("table.csv")
KEY = ("layer", "hardware", "schema", "tiles", "objective")
"""Columns that name a problem and an objective; hardware by the name of its preset."""

COLUMNS = (*KEY, "value", "bound", "point", "nodes", "seconds", "certificate")

_Key = tuple[str, tuple[float, ...], str, str, tuple[str, ...]]


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
    figures and the objective's factors. Names do not matter.

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
    if "proof" not in problem.abilities:
        return None
    space = cast(Problem, problem).space
    key = _key(space.layer.shape, space.hardware, space.schema, space.tiles, objective)
    row = _table().get(key)
    if row is None:
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


@cache
def _table() -> Mapping[_Key, dict[str, str]]:
    return {
        _key(
            row["layer"],
            PRESETS[row["hardware"]],
            row["schema"],
            row["tiles"],
            find_objective(row["objective"]),
        ): row
        for row in read_table()
    }


def _key(layer: str, hardware: Hardware, schema: str, tiles: str, objective: Objective) -> _Key:
    figures = (
        *(hardware.num_pes, hardware.l1_bytes, hardware.l2_bytes, hardware.noc_bw),
        *(hardware.offchip_bw, hardware.noc_latency, hardware.simd_lanes),
        *(hardware.word_bytes, *astuple(hardware.energies)),
    )
    return layer, figures, schema, tiles, tuple(sorted(objective.factors))
