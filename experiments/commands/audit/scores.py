"""One mapping under both cost models, and whether its figures are possible."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from maestro_env.accelerators.technologies import DEFAULT
from maestro_env.evaluation.objectives import Objective, latency_bound
from maestro_env.evaluation.problem import Problem
from maestro_env.experiments.search.goals import Goal
from maestro_env.mapspace.space import MapSpace

NONE = "no valid mapping"
"""What is said where there is no mapping."""

_COMPARED = ("maestro", "exact", "ratio")
_MODELS = ("maestro", "exact")
_OK = "ok"
_REAL = (_OK, "l1_overflow", "l2_overflow")


def headers_of(objective: Objective) -> list[str]:
    """Return the headers of the columns of a score."""
    figures = dict.fromkeys((objective.name, "latency"))
    headers = [f"{figure}\n{each}" for figure in figures for each in _COMPARED]
    return headers + [f"{model} /\nroofline" for model in _MODELS]


class Score(NamedTuple):
    """Figures of a mapping under ``maestro`` and ``exact``; NaN where a model has none.

    Args:
        verdict: what is to say of MAESTRO's figures.
        possible: whether the machine could achieve them.
        values: of the objective.
        cycles: latency of one execution.
        roofline: least latency of any mapping.
    """

    verdict: str
    possible: bool
    values: tuple[float, float]
    cycles: tuple[float, float]
    roofline: float

    def columns(self, objective: Objective) -> Iterator[str]:
        """Yield the cells below ``headers_of``."""
        if objective.name != "latency":
            yield from _compared("{:.4g}", *self.values)
        yield from _compared("{:,.0f}", *self.cycles)
        for each in self.cycles:
            yield _number(each / self.roofline, "{:.2f}")


UNKNOWN = Score(NONE, False, (math.nan, math.nan), (math.nan, math.nan), math.nan)
"""The score where there is no mapping."""


class Auditor:
    """Scores mappings that searches for a goal ended with.

    Args:
        goal: of the searches.
    """

    def __init__(self, goal: Goal) -> None:
        layer, hardware = goal.require("levels").layer, goal.require("levels").hardware
        # Not the goal's space, which may tile R and S: maestro refuses it, but not all its
        # mappings.
        space = MapSpace(layer, hardware)
        # With maestro's own energies, which its latency does not depend on.
        own = MapSpace(layer, replace(hardware, technology=DEFAULT))
        self._goal = goal
        self._models = {
            "maestro": Problem(own, "maestro", guard=False),
            "exact": Problem(space, "exact"),
        }
        self._guarded = Problem(own, "maestro")
        self.roofline = latency_bound(layer, hardware)

    @property
    def warning(self) -> str | None:
        """What to know of MAESTRO's figures of the layer."""
        return self._models["maestro"].stride_warning()

    def score(self, point: Sequence[int]) -> Score:
        """Score a vector of the goal's map space, int32[D]."""
        mapping = self._goal.problem.space.decode(np.array(point, dtype=np.int32))
        scores = {name: model.evaluate_mapping(mapping) for name, model in self._models.items()}
        odd = [f"{model}: {status}" for model, (_, status) in scores.items() if status != _OK]
        costs = [cost for cost, _ in scores.values()]
        maestro, exact = (cost.latency_cycles if cost else math.nan for cost in costs)
        value = self._goal.objective.of
        of_maestro, of_exact = (value(cost.figures()) if cost else math.nan for cost in costs)
        _, guard = self._guarded.evaluate_mapping(mapping)
        fault = self._fault(maestro, guard)
        verdict = "; ".join([fault or "possible", *odd])
        return Score(verdict, not fault, (of_maestro, of_exact), (maestro, exact), self.roofline)

    def _fault(self, cycles: float, guard: str) -> str:
        """Say why the machine could not achieve what MAESTRO says; empty if it could."""
        if math.isnan(cycles):
            return "no figures"
        if cycles < self.roofline:
            return f"impossible: {cycles / self.roofline:.2f} of the roofline"
        return "" if guard in _REAL else f"impossible: {guard}"


def _compared(form: str, maestro: float, exact: float) -> Iterator[str]:
    yield from (_number(each, form) for each in (maestro, exact))
    yield _number(exact / maestro, "{:.2f}")


def _number(value: float, form: str) -> str:
    return "-" if math.isnan(value) else form.format(value)
