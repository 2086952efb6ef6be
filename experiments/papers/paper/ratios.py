"""Costs in multiples of another mapper's, with intervals: computed, kept in files and shown."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

from maestro_env.experiments.papers.paper.items import Lines
from maestro_env.experiments.papers.paper.ledger import Arena
from maestro_env.experiments.papers.paper.results import CsvRow, CsvRows, CsvTable, grouped, pivot
from maestro_env.experiments.shown.statistics import Floats, has_interval, iqm, stratified_interval
from maestro_env.experiments.shown.tables import significant

_DIGITS = 4
_COUNTS = ("problems", "samples")
# Two costs that differ by less are no different, whatever an interval excludes.
_ALIKE = 1.02
RATIO_COLUMNS = ("ratio", "low", "high", "without", "alone")

Comparison = tuple[Sequence[object], Sequence[Arena], str, str]
"""The first columns of its rows, the arenas, the mapper and its base."""


@dataclass(frozen=True)
class Ratio:
    """A mapper's cost in multiples of another's, the base, after some samples.

    Args:
        problems: that both finished a search on.
        samples: how many.
        ratio: geometric mean over problems of the ratio of interquartile means over seeds, where
            both are finite; NaN if they are nowhere.
        low: lower end of its interval; NaN with one search on a problem, or for the base itself.
        high: upper end.
        without: problems where the base's interquartile mean is finite and the mapper's infinite:
            too few of its searches have found something valid.
        alone: problems where it is the other way round.
    """

    problems: int
    samples: int
    ratio: float
    low: float
    high: float
    without: int
    alone: int

    @classmethod
    def of(cls, row: CsvRow) -> Ratio:
        """Read it from a row of a file; an empty cell is NaN."""
        *figures, without, alone = (row[name] for name in RATIO_COLUMNS)
        ratio, low, high = (float(figure or math.nan) for figure in figures)
        # Table III's files have the first two in other columns.
        problems, samples = (int(row.get(name, 0)) for name in _COUNTS)
        return cls(problems, samples, ratio, low, high, int(without), int(alone))

    def row(self, shown: Callable[[float], object]) -> tuple[object, ...]:
        """Return its columns in a file, ``RATIO_COLUMNS``, figures shown in some way."""
        return *map(shown, (self.ratio, self.low, self.high)), self.without, self.alone

    @property
    def better(self) -> bool | None:
        """Whether it costs less for certain; False if it costs more, None if neither."""
        nowhere = math.isnan(self.ratio)
        less = self.alone > 0 if nowhere else self.high < 1
        more = self.without > 0 if nowhere else self.low > 1
        if less and not self.without:
            return True
        return False if more and not self.alone else None

    @property
    def worse(self) -> bool | None:
        return None if self.better is None else not self.better

    def __str__(self) -> str:
        return self.told(lambda each: "inf" if math.isinf(each) else significant(each, _DIGITS))

    def told(self, shown: Callable[[float], str]) -> str:
        """Return it as text, whose figures are shown in some way."""
        parts = [] if math.isnan(self.ratio) else [shown(self.ratio)]
        if not math.isnan(self.low):
            parts[0] += f" [{shown(self.low)}, {shown(self.high)}]"
        left_out = {"none": self.without, "alone": self.alone}
        parts += [f"{how} in {number}" for how, number in left_out.items() if number]
        return ", ".join(parts) or "-"


def no_difference(ratios: Sequence[Ratio]) -> bool:
    """Say whether after the most samples all intervals are within 2 % of 1, both ways."""
    most = max((each.samples for each in ratios), default=0)
    last = [each for each in ratios if each.samples == most]
    return bool(last) and all(
        each.low >= 1 / _ALIKE and each.high <= _ALIKE and not each.without and not each.alone
        for each in last
    )


def cost_ratios(
    arenas: Sequence[Arena], mapper: str, base: str | None, checkpoints: Sequence[int]
) -> list[Ratio]:
    """Return what a mapper's best so far costs in multiples of the base's, at each checkpoint.

    Arenas that lack a search of one of both are left out. Without a base, costs are multiples of
    the optima, which are known.
    """
    at = np.array(checkpoints)
    shared = [arena for arena in arenas if arena.has(mapper, base or mapper)]
    costs = [arena.bests(mapper, at) for arena in shared]
    bases = [
        arena.bests(base, at) if base else np.full_like(cost, arena.least)
        for arena, cost in zip(shared, costs, strict=True)
    ]
    strata = [*costs, *bases]
    if not shared:
        return [Ratio(0, each, math.nan, math.nan, math.nan, 0, 0) for each in checkpoints]
    own, other = np.split(np.isfinite([iqm(stratum) for stratum in strata]), 2)
    counted = np.count_nonzero(own & other, axis=0)

    def figure(drawn: Sequence[Floats]) -> Floats:
        """Return the geometric mean over arenas, float64[..., C]; NaN where no arena counts."""
        logs = []
        with np.errstate(invalid="ignore"):
            means = list(map(iqm, drawn))
            halves = means[: len(shared)], means[len(shared) :]
            for top, bottom, counts in zip(*halves, own & other, strict=True):
                # A resample may lose what the seeds have found.
                neither = np.isinf(top) & np.isinf(bottom)
                logs.append(np.where(counts & ~neither, np.log(top) - np.log(bottom), 0.0))
            sums = np.sum(logs, axis=0)
        return np.asarray(np.exp(sums / np.where(counted, counted, np.nan)))

    ratio = figure(strata)
    low = high = np.full(len(at), np.nan)
    if mapper != base and has_interval(strata):
        low, high = stratified_interval(strata, figure)
    without, alone = (np.count_nonzero(each, axis=0) for each in (other & ~own, own & ~other))
    columns = (each.tolist() for each in (at, ratio, low, high, without, alone))
    return [Ratio(len(shared), *figures) for figures in zip(*columns, strict=True)]


def ratio_lines(
    keys: Sequence[str], comparisons: Iterable[Comparison], checkpoints: Sequence[int]
) -> Lines:
    """Yield the lines of a file of what mappers cost, wherever that can be told."""
    yield (*keys, *_COUNTS, *RATIO_COLUMNS)
    rounded = partial(round, ndigits=_DIGITS)
    for values, arenas, mapper, base in comparisons:
        for each in cost_ratios(arenas, mapper, base, checkpoints):
            if each.without or each.alone or not math.isnan(each.ratio):
                yield *values, each.problems, each.samples, *each.row(rounded)


def group_lines(
    arenas: Sequence[Arena], mappers: Sequence[str], base: str | None, checkpoints: Sequence[int]
) -> Lines:
    """Yield the lines of a file of what every mapper costs in every group of arenas."""
    yield ("group", "cells", "mapper", "samples", "of", *RATIO_COLUMNS)
    for (name, group), mapper in product(groups_of(arenas).items(), mappers):
        for each in cost_ratios(group, mapper, base, checkpoints):
            yield name, len(group), mapper, each.samples, each.problems, *each.row(number)


def groups_of(arenas: Sequence[Arena]) -> dict[str, list[Arena]]:
    """Return the arenas that figures are taken over together, by model and hardware."""
    groups: dict[str, list[Arena]] = {}
    for arena in arenas:
        for name in (arena.model, f"{arena.model}, {arena.hardware}"):
            groups.setdefault(name, []).append(arena)
    # A model on one hardware has nothing to sum up.
    return {
        name: group
        for name, group in groups.items()
        if "," in name or len({arena.hardware for arena in group}) > 1
    }


def group_tables(
    rows: CsvRows, cell: Callable[[CsvRow], object], label: Callable[[CsvRow], str]
) -> list[tuple[str, CsvTable]]:
    """Return a titled table of the ratios of each group, those of mappers that were searched."""
    there = [row for row in rows if row["of"] != "0"]
    return [
        (f"{group} ({here[0]['cells']} cells)", pivot("mapper", here, ("samples",), cell, label))
        for (group,), here in grouped(there, "group").items()
    ]


def number(figure: float) -> str:
    """Return eight digits of a figure; ``inf`` is one, not a number is an empty cell."""
    return "" if math.isnan(figure) else f"{figure:.8g}"
