"""The best mappings of a run under both cost models, and which of their figures are possible."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from experiments.audit.config import AuditConfig
from experiments.cells import Finished
from experiments.files import RecordError
from experiments.goals import Goal
from experiments.sheets import Sheet
from experiments.study import read_all
from maestro_env.map_space import MapSpace
from maestro_env.objectives import latency_bound
from maestro_env.problem import Problem

_COMPARED = ("maestro", "exact", "ratio")
_OK = "ok"
_REAL = (_OK, "l1_overflow", "l2_overflow")


class Auditor:
    """Scores mappings that searches for a goal ended with."""

    def __init__(self, goal: Goal) -> None:
        layer, hardware = goal.problem.layer, goal.problem.hardware
        # Not the goal's space, which may tile R and S: maestro refuses it, but not all its
        # mappings.
        space = MapSpace(layer, hardware)
        self._goal = goal
        unguarded = Problem(space, "maestro", guard=False)
        self._models = {"maestro": unguarded, "exact": Problem(space, "exact")}
        self._guarded = Problem(space, "maestro")
        self._roofline = latency_bound(layer, hardware)
        self.warning = unguarded.stride_warning()

    def sheet(self, searches: Sequence[Finished]) -> Sheet:
        """Return the table of the best mappings of searches."""
        problem, objective = self._goal.problem, self._goal.objective
        layer = problem.layer
        figures = dict.fromkeys((objective.name, "latency"))
        headers = [f"{figure}\n{each}" for figure in figures for each in _COMPARED]
        headers += [f"{model} /\nroofline" for model in self._models]
        rows = [(each.cell.mapper, each.cell.seed, *self._columns(each)) for each in searches]
        title = (
            f"{layer} ({layer.operator} {layer.dimensions}) on {problem.hardware.name}, searched "
            f"for {objective.name} ({objective.unit}) under {problem.model}; "
            f"roofline {self._roofline:,} cycles"
        )
        return Sheet(title, ("mapper", "seed", "verdict on maestro"), headers, rows)

    def _columns(self, search: Finished) -> Iterator[str]:
        """Yield the verdict on a search's best mapping, and figures of both models."""
        if search.best_point is None:
            yield "no valid mapping"
            return
        mapping = self._goal.problem.space.decode(search.best_point)
        scores = {name: model.evaluate_mapping(mapping) for name, model in self._models.items()}
        odd = [f"{model}: {status}" for model, (_, status) in scores.items() if status != _OK]
        costs = [cost for cost, _ in scores.values()]
        cycles = [cost.latency_cycles if cost else math.nan for cost in costs]
        _, guard = self._guarded.evaluate_mapping(mapping)
        yield "; ".join([self._claim(cycles[0], guard), *odd])
        if self._goal.objective.name != "latency":
            value = self._goal.objective.of
            values = (value(cost.figures()) if cost else math.nan for cost in costs)
            yield from _compared("{:.4g}", *values)
        yield from _compared("{:,.0f}", *cycles)
        for each in cycles:
            yield _number(each / self._roofline, "{:.2f}")

    def _claim(self, cycles: float, guard: str) -> str:
        """Say whether the machine could achieve what MAESTRO says."""
        if math.isnan(cycles):
            return "no figures"
        if cycles < self._roofline:
            return f"impossible: {cycles / self._roofline:.2f} of the roofline"
        return "possible" if guard in _REAL else f"impossible: {guard}"


def execute(config: AuditConfig) -> int:
    """Score, print, and return the exit status."""
    found = read_all(Path(config.rundir))
    if not found:
        raise RecordError(f"{config.rundir} has no searches; give a directory of experiments.run")
    for goal, searches in found:
        auditor = Auditor(goal)
        if auditor.warning:
            print(f"warning: {auditor.warning}", file=sys.stderr)
        auditor.sheet(searches).print()
    return 0


def _compared(form: str, maestro: float, exact: float) -> Iterator[str]:
    yield from (_number(each, form) for each in (maestro, exact))
    yield _number(exact / maestro, "{:.2f}")


def _number(value: float, form: str) -> str:
    return "-" if math.isnan(value) else form.format(value)
