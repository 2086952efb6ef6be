"""Tables of a study, for programs; no number is an empty cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from experiments.files import write_csv
from experiments.standings import Checkpoints, Contest, Standing, checkpoints, standings
from experiments.study import Study
from experiments.study_tables import LEDGER, ledger
from experiments.texts import printable

_PLACE = ("layer", "objective", "mapper")
_FIGURES = ("best", "low", "high", "to_best_mapper", "times_lower_bound", "p_improvement")
_ARRIVAL = ("median_samples_to_5_percent", "arrived")


def write_table(path: Path, study: Study, contests: Sequence[Contest]) -> None:
    """Write one row per layer, objective, mapper and checkpoint."""
    at = checkpoints(study.config.samples)
    rows = (
        (printable(contest.layer), contest.objective, printable(mapper), *row)
        for contest in contests
        for mapper, standing in standings(contest, at).items()
        for row in _rows(standing, at)
    )
    write_csv(path, (*_PLACE, "samples", "seeds", "valid", *_FIGURES, *_ARRIVAL), rows)


def write_ledger(path: Path, study: Study, contests: Sequence[Contest]) -> None:
    """Write one row per mapper."""
    rows = ((printable(mapper), *ledger(contests, mapper).values()) for mapper in study.mappers)
    write_csv(path, ("mapper", *LEDGER), rows)


def write_seconds(path: Path, contests: Sequence[Contest]) -> None:
    """Write one row per search: what no two runs share."""
    rows = (
        (
            *(printable(contest.layer), contest.objective, printable(mapper), each.cell.seed),
            *(each.seconds, each.model_seconds, each.versions.get("commit")),
        )
        for contest in contests
        for mapper, found in contest.searches.items()
        for each in found
    )
    write_csv(path, (*_PLACE, "seed", "seconds", "model_seconds", "commit"), rows)


def _rows(standing: Standing, at: Checkpoints) -> Iterator[list[object]]:
    bests = (standing.best, *standing.interval)
    ratios = (standing.to_best_mapper, standing.times_bound, standing.improvement)
    arrived = np.count_nonzero(np.isfinite(standing.samples_to))
    median = _cell(float(np.median(standing.samples_to)))
    figures = np.stack([*bests, *ratios], axis=1).tolist()
    for samples, valid, row in zip(at, standing.valid, figures, strict=True):
        yield [samples, standing.seeds, valid, *map(_cell, row), median, arrived]


def _cell(figure: float) -> object:
    return figure if np.isfinite(figure) else ""
