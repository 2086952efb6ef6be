"""The best mappings of a run under both cost models, and which of their figures are possible."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.table import Table

from experiments.cells import Finished
from experiments.flags import argument
from experiments.goals import Goal
from experiments.study import read_all
from experiments.tables import new_table, print_table
from maestro_env.map_space import MapSpace
from maestro_env.mapping import Mapping
from maestro_env.objectives import Objective, latency_bound
from maestro_env.problem import Problem

_COMPARED = ("maestro", "exact", "ratio")
_OK = "ok"
_REAL = (_OK, "l1_overflow", "l2_overflow")


@dataclass(frozen=True)
class AuditConfig:
    """Score a run's best mappings under both models: are their figures possible?"""

    rundir: str = argument("a directory of experiments.run or experiments.compare")


@dataclass(frozen=True)
class Score:
    """A mapping under one model; NaN where the model has no figure.

    Args:
        value: of the run's objective.
        cycles: of the layer.
        status: a name of ``STATUSES``.
    """

    value: float
    cycles: float
    status: str


@dataclass(frozen=True)
class Audit:
    """A search's best mapping under both models.

    Args:
        maestro: as MAESTRO counts it, without the guard.
        exact: as it would run.
        guard: status of MAESTRO's figures under the guard.
    """

    maestro: Score
    exact: Score
    guard: str

    def verdict(self, roofline: float) -> str:
        """Say whether the machine could achieve what MAESTRO says, and which status is not ok."""
        scores = {"maestro": self.maestro, "exact": self.exact}
        odd = [f"{model}: {each.status}" for model, each in scores.items() if each.status != _OK]
        return "; ".join([self._claim(roofline), *odd])

    def _claim(self, roofline: float) -> str:
        if math.isnan(self.maestro.cycles):
            return "no figures"
        if self.maestro.cycles < roofline:
            return f"impossible: {self.maestro.cycles / roofline:.2f} of the roofline"
        return "possible" if self.guard in _REAL else f"impossible: {self.guard}"


class Auditor:
    """Scores mappings of a goal's layer on its hardware.

    Args:
        goal: of the searches.
    """

    def __init__(self, goal: Goal) -> None:
        self._objective = goal.objective
        # Not the goal's space, which may tile R and S: maestro refuses it, but not all its
        # mappings.
        space = MapSpace(goal.problem.layer, goal.problem.hardware)
        self._maestro = Problem(space, "maestro", guard=False)
        self._guarded = Problem(space, "maestro")
        self._exact = Problem(space, "exact")

    def audit(self, mapping: Mapping) -> Audit:
        return Audit(
            _score(self._maestro, self._objective, mapping),
            _score(self._exact, self._objective, mapping),
            self._guarded.evaluate_mapping(mapping)[1],
        )

    def warning(self) -> str | None:
        return self._maestro.stride_warning()


def execute(config: AuditConfig) -> int:
    """Score, print, and return the exit status."""
    for goal, searches in read_all(Path(config.rundir)):
        auditor = Auditor(goal)
        if warning := auditor.warning():
            print(f"warning: {warning}", file=sys.stderr)
        print_table(_table(goal, auditor, searches))
    return 0


def _score(problem: Problem, objective: Objective, mapping: Mapping) -> Score:
    cost, status = problem.evaluate_mapping(mapping)
    if cost is None:
        return Score(math.nan, math.nan, status)
    return Score(objective.of(cost.figures()), cost.latency_cycles, status)


def _table(goal: Goal, auditor: Auditor, searches: list[Finished]) -> Table:
    layer, hardware = goal.problem.layer, goal.problem.hardware
    roofline = latency_bound(layer, hardware)
    figures = tuple(dict.fromkeys((goal.objective.name, "latency")))
    table = new_table(
        f"{layer} ({layer.operator} {layer.dimensions}) on {hardware.name}, searched for "
        f"{goal.objective.name} ({goal.objective.unit}) under {goal.problem.model}; "
        f"roofline {roofline:,} cycles",
        ("mapper", "seed", "verdict on maestro"),
        (
            *(f"{figure}\n{each}" for figure in figures for each in _COMPARED),
            "maestro /\nroofline",
            "exact /\nroofline",
        ),
    )
    for search in searches:
        cells = _figures(goal, auditor, search.best_point, roofline)
        table.add_row(search.cell.mapper, str(search.cell.seed), *cells)
    return table


def _figures(
    goal: Goal, auditor: Auditor, best_point: tuple[int, ...] | None, roofline: float
) -> Iterator[str]:
    if best_point is None:
        yield "no valid mapping"
        return
    audit = auditor.audit(goal.problem.space.decode(np.array(best_point, dtype=np.int32)))
    yield audit.verdict(roofline)
    if goal.objective.name != "latency":
        yield from _compared(audit.maestro.value, audit.exact.value, "{:.4g}")
    yield from _compared(audit.maestro.cycles, audit.exact.cycles, "{:,.0f}")
    yield _number(audit.maestro.cycles / roofline, "{:.2f}")
    yield _number(audit.exact.cycles / roofline, "{:.2f}")


def _compared(maestro: float, exact: float, form: str) -> Iterator[str]:
    yield _number(maestro, form)
    yield _number(exact, form)
    yield _number(exact / maestro, "{:.2f}")


def _number(value: float, form: str) -> str:
    return "-" if math.isnan(value) else form.format(value)
