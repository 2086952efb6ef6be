"""Mappings under both cost models, one or the best of a sweep, and whether figures are possible."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from maestro_env.accelerators.technologies import DEFAULT
from maestro_env.evaluation.objectives import Objective, latency_bound
from maestro_env.evaluation.problem import Problem
from maestro_env.experiments.search.goals import Goal
from maestro_env.experiments.shell.files import read_record
from maestro_env.experiments.shown.tables import Table
from maestro_env.experiments.store.claims import ANEW, CONFIG
from maestro_env.experiments.study.sweep.axes import Sweep
from maestro_env.experiments.study.sweep.chunks import (
    CellBest,
    best_mappings,
    checked_goal,
    recorded_chunks,
)
from maestro_env.experiments.study.sweep.fronts import RECORD, read_front, rounds_of
from maestro_env.mapspace.two_level_space import MapSpace

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


_NOTE = (
    "Layers: one execution. All: the latency of all executions, and of how many layers MAESTRO's "
    "figures are possible."
)

ScoreByCell = Mapping[CellBest, Score | None]
"""What cells found, and its score; None where no mapping is valid."""


def is_sweep(directory: Path) -> bool:
    """Say whether a directory is one of ``sweep`` or ``codesign``."""
    return (directory / RECORD).exists() or "sweep" in read_record(directory / CONFIG, ANEW)


def tables_of(directory: Path) -> Iterator[Table]:
    """Yield a table for every accelerator and objective; of a co-design, for those on its front.

    Raises:
        RecordError: a record that cannot be read or was changed.
    """
    if not (directory / RECORD).exists():
        yield from _tables(directory, None)
        return
    front = {design["hardware"] for design in read_front(directory)["front"]}
    for path in rounds_of(directory):
        yield from _tables(path, front)


def _tables(directory: Path, wanted: Collection[str] | None) -> Iterator[Table]:
    """Yield the tables of a sweep, of the accelerators that are wanted; None for all."""
    chunks = recorded_chunks(directory)
    sweep = chunks[0].sweep
    found: dict[tuple[str, ...], list[CellBest]] = {}
    for each in best_mappings(chunks):
        _, *place = sweep.names(each.problem)
        if wanted is None or place[0] in wanted:
            found.setdefault(tuple(place), []).append(each)
    for (hardware, _), cells in found.items():
        scores = {each: _score(directory, sweep, each) for each in cells}
        objective = sweep.goal(cells[0].problem).objective
        searched = f"searched for {objective.name} ({objective.unit}) under {sweep.problem.model}"
        left = ("layers", "mapper", "seed", "verdict on maestro")
        rows = [*_rows(sweep, scores, objective), *_totals(sweep, scores, objective)]
        yield Table(f"{hardware}, {searched}", left, headers_of(objective), rows, _NOTE)


def _score(directory: Path, sweep: Sweep, found: CellBest) -> Score | None:
    """Score the mapping of a cell; None if it has none."""
    goal = checked_goal(directory, sweep, found)
    return None if found.vector is None else Auditor(goal).score(found.vector)


def _rows(sweep: Sweep, scores: ScoreByCell, objective: Objective) -> Iterator[Sequence[str]]:
    for found, score in sorted(scores.items(), key=lambda each: each[0].problem):
        layer, _, _ = sweep.names(found.problem)
        figures = [NONE] if score is None else [score.verdict, *score.columns(objective)]
        yield layer, found.mapper, str(found.seed), *figures


def _totals(sweep: Sweep, scores: ScoreByCell, objective: Objective) -> Iterator[Sequence[str]]:
    """Yield a row for every set of layers and search: the sums over all executions."""
    searches: dict[tuple[str, str], dict[str, Score | None]] = {}
    for found, score in scores.items():
        layer, _, _ = sweep.names(found.problem)
        searches.setdefault((found.mapper, str(found.seed)), {})[layer] = score
    for part, (search, by_layer) in product(sweep.sets, searches.items()):
        layers = [by_layer.get(sweep.layers[each].name) or UNKNOWN for each in part.layers]
        possible = sum(each.possible for each in layers)
        figures = np.array([(*each.cycles, each.roofline) for each in layers])
        maestro, exact, roofline = (np.array(part.counts) @ figures).tolist()
        total = Score("", False, UNKNOWN.values, (maestro, exact), roofline)
        verdict = f"possible: {possible} of {len(layers)}"
        yield f"all of {part.name}", *search, verdict, *total.columns(objective)
