"""Tables of a study, for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from experiments.csv_files import csv_text
from experiments.standings import Checkpoints, Contest, Standing, checkpoints, standings
from experiments.study import Study
from experiments.study_tables import LEDGER, ledger
from experiments.texts import printable

_COLUMNS = (
    "layer",
    "objective",
    "mapper",
    "samples",
    "seeds",
    "valid",
    "best",
    "low",
    "high",
    "to_best_mapper",
    "times_lower_bound",
    "p_improvement",
    "median_samples_to_5_percent",
    "arrived",
)


def table_csv(study: Study, contests: Sequence[Contest]) -> str:
    """Return one row per layer, objective, mapper and checkpoint; no number is an empty cell."""
    at = checkpoints(study.config.samples)
    rows = (
        (printable(contest.layer), contest.objective, printable(mapper), *row)
        for contest in contests
        for mapper, standing in standings(contest, at).items()
        for row in _rows(standing, at)
    )
    return csv_text(_COLUMNS, rows)


def ledger_csv(study: Study, contests: Sequence[Contest]) -> str:
    """Return one row per mapper."""
    rows = ((printable(mapper), *ledger(contests, mapper).values()) for mapper in study.mappers)
    return csv_text(("mapper", *LEDGER), rows)


def seconds_csv(contests: Sequence[Contest]) -> str:
    """Return one row per search: what no two runs share."""
    header = ("layer", "objective", "mapper", "seed", "seconds", "model_seconds", "commit")
    rows = (
        (
            printable(contest.layer),
            contest.objective,
            printable(mapper),
            each.cell.seed,
            each.seconds,
            each.model_seconds,
            each.versions.get("commit"),
        )
        for contest in contests
        for mapper, found in contest.searches.items()
        for each in found
    )
    return csv_text(header, rows)


def _rows(standing: Standing, at: Checkpoints) -> Iterator[list[object]]:
    nothing = np.full(len(at), np.nan)
    low, high = standing.interval or (nothing, nothing)
    columns = (
        standing.best,
        low,
        high,
        standing.to_best_mapper,
        nothing if standing.times_bound is None else standing.times_bound,
        nothing if standing.improvement is None else standing.improvement,
    )
    arrived = np.count_nonzero(np.isfinite(standing.samples_to))
    median = _cell(float(np.median(standing.samples_to)))
    for index, samples in enumerate(at.tolist()):
        figures = [_cell(float(column[index])) for column in columns]
        yield [samples, standing.seeds, standing.valid[index], *figures, median, arrived]


def _cell(figure: float) -> object:
    return figure if np.isfinite(figure) else ""
