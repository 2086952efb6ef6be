"""The best mappings of a sweep, or of the front of a co-design, under both cost models."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np

from maestro_env.evaluation.objectives import Objective
from maestro_env.experiments.commands.audit.scores import NONE, UNKNOWN, Auditor, Score, headers_of
from maestro_env.experiments.shell.files import read_record
from maestro_env.experiments.shown.tables import Sheet
from maestro_env.experiments.store.directory import ANEW, CONFIG
from maestro_env.experiments.study.sweep.axes import Sweep
from maestro_env.experiments.study.sweep.fronts import RECORD, read_front, rounds_of
from maestro_env.experiments.study.sweep.records import (
    CellBest,
    best_mappings,
    checked_goal,
    recorded_chunks,
)

_NOTE = (
    "Layers: one execution. All: the latency of all executions, and of how many layers MAESTRO's "
    "figures are possible."
)

ScoreByCell = Mapping[CellBest, Score | None]
"""What cells found, and its score; None where no mapping is valid."""


def is_sweep(directory: Path) -> bool:
    """Say whether a directory is one of ``sweep`` or ``codesign``."""
    return (directory / RECORD).exists() or "sweep" in read_record(directory / CONFIG, ANEW)


def sheets_of(directory: Path) -> Iterator[Sheet]:
    """Yield a table for every accelerator and objective; of a co-design, for those on its front.

    Raises:
        RecordError: a record that cannot be read or was changed.
    """
    if not (directory / RECORD).exists():
        yield from _sheets(directory, None)
        return
    front = {design["hardware"] for design in read_front(directory)["front"]}
    for path in rounds_of(directory):
        yield from _sheets(path, front)


def _sheets(directory: Path, wanted: Collection[str] | None) -> Iterator[Sheet]:
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
        yield Sheet(f"{hardware}, {searched}", left, headers_of(objective), rows, _NOTE)


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
