"""Costs in multiples of another mapper's, with intervals: computed, kept in files and shown."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.paper.ledger import Arena
from experiments.paper.rows import Row
from experiments.shown.statistics import Floats, iqm, stratified_interval
from experiments.shown.tables import significant

_DIGITS = 4
RATIO_COLUMNS = ("problems", "samples", "ratio", "low", "high", "without", "alone")
"""Of the files of Fig. 6 and the overhead: what ``ratio_rows`` yields."""

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
    def of(cls, row: Row) -> Ratio:
        """Read it from a row of a file; an empty cell is NaN."""
        ratio, low, high = (float(row[name] or math.nan) for name in ("ratio", "low", "high"))
        # Table III's files have the first two in other columns.
        problems, samples = (int(row.get(name, 0)) for name in RATIO_COLUMNS[:2])
        return cls(problems, samples, ratio, low, high, int(row["without"]), int(row["alone"]))

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
        return self.told(_shown)

    def told(self, shown: Callable[[float], str]) -> str:
        """Return it as text, whose figures are shown in some way."""
        parts = [] if math.isnan(self.ratio) else [shown(self.ratio)]
        if not math.isnan(self.low):
            parts[0] += f" [{shown(self.low)}, {shown(self.high)}]"
        left_out = {"none": self.without, "alone": self.alone}
        parts += [f"{how} in {number}" for how, number in left_out.items() if number]
        return ", ".join(parts) or "-"


def _shown(figure: float) -> str:
    return "inf" if math.isinf(figure) else significant(figure, _DIGITS)


def cost_ratios(
    arenas: Sequence[Arena], mapper: str, base: str, checkpoints: Sequence[int]
) -> list[Ratio]:
    """Return what a mapper's best so far costs in multiples of the base's, at each checkpoint.

    Arenas that lack a search of one of both are left out.
    """
    shared = [arena for arena in arenas if arena.has(mapper, base)]
    at = np.array(checkpoints)
    costs, bases = ([arena.bests(name, at) for arena in shared] for name in (mapper, base))
    return _ratios(costs, bases, at, spread=mapper != base)


def optimum_ratios(arenas: Sequence[Arena], mapper: str, checkpoints: Sequence[int]) -> list[Ratio]:
    """Return what a mapper's best so far costs in multiples of the optimum, at each checkpoint.

    Arenas that it did not search are left out; of the others the optimum is known.
    """
    shared = [arena for arena in arenas if arena.has(mapper)]
    at = np.array(checkpoints)
    costs = [arena.bests(mapper, at) for arena in shared]
    optima = [np.full_like(each, arena.least) for arena, each in zip(shared, costs, strict=True)]
    return _ratios(costs, optima, at, spread=True)


def _ratios(
    costs: Sequence[Floats], bases: Sequence[Floats], at: NDArray[np.int64], spread: bool
) -> list[Ratio]:
    """Return the ratios of costs to their bases, a float64[S, C] an arena each.

    Without a spread they have no interval.
    """
    shared, strata = len(costs), [*costs, *bases]
    if not shared:
        return [Ratio(0, each, math.nan, math.nan, math.nan, 0, 0) for each in at.tolist()]
    own, other = np.split(np.isfinite([iqm(stratum) for stratum in strata]), 2)
    counted = np.count_nonzero(own & other, axis=0)

    def figure(drawn: Sequence[Floats]) -> Floats:
        """Return the geometric mean over arenas, float64[..., C]; NaN where no arena counts."""
        logs = []
        with np.errstate(invalid="ignore"):
            means = list(map(iqm, drawn))
            halves = means[:shared], means[shared:]
            for top, bottom, counts in zip(*halves, own & other, strict=True):
                # A resample may lose what the seeds have found.
                neither = np.isinf(top) & np.isinf(bottom)
                logs.append(np.where(counts & ~neither, np.log(top) - np.log(bottom), 0.0))
            sums = np.sum(logs, axis=0)
        return np.asarray(np.exp(sums / np.where(counted, counted, np.nan)))

    ratio = figure(strata)
    low = high = np.full(len(at), np.nan)
    if spread and all(len(stratum) > 1 for stratum in strata):
        low, high = stratified_interval(strata, figure)
    without, alone = (np.count_nonzero(each, axis=0) for each in (other & ~own, own & ~other))
    columns = (each.tolist() for each in (at, ratio, low, high, without, alone))
    return [Ratio(shared, *figures) for figures in zip(*columns, strict=True)]


def ratio_rows(
    comparisons: Iterable[Comparison], checkpoints: Sequence[int]
) -> Iterator[tuple[object, ...]]:
    """Yield the rows of a file for what mappers cost, wherever that can be told."""
    for keys, arenas, mapper, base in comparisons:
        for each in cost_ratios(arenas, mapper, base, checkpoints):
            if each.without or each.alone or not math.isnan(each.ratio):
                figures = (round(figure, _DIGITS) for figure in (each.ratio, each.low, each.high))
                yield *keys, each.problems, each.samples, *figures, each.without, each.alone
