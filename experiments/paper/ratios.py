"""Costs in multiples of another mapper's, with intervals: computed, kept in files and shown."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields

import numpy as np
from numpy.typing import NDArray

from experiments.paper.ledger import Arena
from experiments.sheets import bracketed, significant
from experiments.stats import Floats, iqm, stratified_interval

_DIGITS = 4


@dataclass(frozen=True, eq=False)
class Ratio:
    """A mapper's cost in multiples of another's, at each of C numbers of samples.

    Args:
        arenas: that both finished a search in.
        figure: float64[C], geometric mean over arenas of the ratio of interquartile means over
            seeds, where both are finite; NaN if they are nowhere.
        interval: of it, float64[C] each; None with one search in an arena, or for the base itself.
        without: int64[C], arenas where the base's interquartile mean is finite and the mapper's is
            infinite: too few of its searches have found something valid.
        alone: int64[C], arenas where it is the other way round.
    """

    arenas: int
    figure: Floats
    interval: tuple[Floats, Floats] | None
    without: NDArray[np.int64]
    alone: NDArray[np.int64]


def cost_ratio(arenas: Sequence[Arena], mapper: str, base: str, samples: Sequence[int]) -> Ratio:
    """Return what a mapper's best so far costs in multiples of the base's.

    Arenas that lack a search of one of both are left out.
    """
    at = np.array(samples)
    shared = [arena.contest for arena in arenas if arena.has(mapper, base)]
    if not shared:
        none = np.zeros(len(at), dtype=np.int64)
        return Ratio(0, np.full(len(at), np.nan), None, none, none)
    strata = [contest.bests(name, at) for name in (mapper, base) for contest in shared]
    found = np.isfinite([iqm(stratum) for stratum in strata])
    above, below = found[: len(shared)], found[len(shared) :]

    def figure(drawn: Sequence[Floats]) -> Floats:
        return geometric_ratio(drawn[: len(shared)], drawn[len(shared) :], above & below)

    several = mapper != base and all(len(stratum) > 1 for stratum in strata)
    return Ratio(
        len(shared),
        figure(strata),
        stratified_interval(strata, figure) if several else None,
        without=np.count_nonzero(below & ~above, axis=0),
        alone=np.count_nonzero(above & ~below, axis=0),
    )


def geometric_ratio(
    tops: Sequence[Floats], bottoms: Sequence[Floats], counted: NDArray[np.bool_]
) -> Floats:
    """Return the geometric mean over tasks of ratios of interquartile means over seeds.

    Args:
        tops: float64[S, ..., C] each, a task each.
        bottoms: the same tasks in the same order.
        counted: bool[T, C], whether a task counts in a column.

    Returns:
        float64[..., C]; NaN in a column where no task counts.
    """
    tasks = np.count_nonzero(counted, axis=0)
    # A resample may lose what the seeds have found.
    with np.errstate(invalid="ignore"):
        logs = [
            np.where(counts, _log_ratio(iqm(top), iqm(bottom)), 0.0)
            for top, bottom, counts in zip(tops, bottoms, counted, strict=True)
        ]
        mean: Floats = np.exp(np.sum(logs, axis=0) / np.where(tasks, tasks, np.nan))
    return mean


def _log_ratio(top: Floats, bottom: Floats) -> Floats:
    neither = np.isinf(top) & np.isinf(bottom)
    return np.where(neither, 0.0, np.log(top) - np.log(bottom))


@dataclass(frozen=True)
class RatioRow:
    """A ratio after some samples, as a row of a file.

    Args:
        problems: that both finished searches on.
        samples: how many.
        ratio: as in ``Ratio``.
        low: lower end of its interval, NaN if it has none.
        high: upper end.
        without: as in ``Ratio``.
        alone: as in ``Ratio``.
    """

    problems: int
    samples: int
    ratio: float
    low: float
    high: float
    without: int
    alone: int

    @staticmethod
    def header() -> tuple[str, ...]:
        """Return its columns of a file."""
        return tuple(field.name for field in fields(RatioRow))

    def row(self) -> tuple[object, ...]:
        """Return it as part of a row of a file."""
        return astuple(self)

    @classmethod
    def of(cls, row: Mapping[str, str]) -> RatioRow:
        """Read it from a row of a file."""
        ratio, low, high = (float(row[name]) for name in ("ratio", "low", "high"))
        without, alone = (int(row[name]) for name in ("without", "alone"))
        return cls(int(row["problems"]), int(row["samples"]), ratio, low, high, without, alone)

    @property
    def better(self) -> bool | None:
        """Whether it costs less for certain; False if it costs more, None if neither."""
        less = self.alone > 0 if math.isnan(self.ratio) else self.high < 1
        more = self.without > 0 if math.isnan(self.ratio) else self.low > 1
        if less and not self.without:
            return True
        return False if more and not self.alone else None

    def __str__(self) -> str:
        interval = None if math.isnan(self.low) else (self.low, self.high)
        figure = f"{self.ratio:.{_DIGITS - 1}f}"
        shown = [] if math.isnan(self.ratio) else [bracketed(figure, interval, _DIGITS)]
        left_out = {"none": self.without, "alone": self.alone}
        return "; ".join([*shown, *(f"{how} in {n}" for how, n in left_out.items() if n)])


def ratio_rows(
    arenas: Sequence[Arena], mapper: str, base: str, checkpoints: Sequence[int]
) -> Iterator[RatioRow]:
    """Yield what a mapper costs in multiples of another, wherever that can be told."""
    found = cost_ratio(arenas, mapper, base, checkpoints)
    low, high = found.interval or (np.full(len(checkpoints), np.nan),) * 2
    for index, samples in enumerate(checkpoints):
        without, alone = int(found.without[index]), int(found.alone[index])
        if without or alone or not math.isnan(found.figure[index]):
            figure, *ends = (
                round(float(each[index]), _DIGITS) for each in (found.figure, low, high)
            )
            yield RatioRow(found.arenas, samples, figure, ends[0], ends[1], without, alone)


def tally(rows: Sequence[RatioRow]) -> tuple[int, int, int]:
    """Return how many are better, worse, and not told apart."""
    verdicts = [row.better for row in rows]
    return verdicts.count(True), verdicts.count(False), verdicts.count(None)


def shown_ratio(row: Mapping[str, str]) -> str:
    """Return a ratio of Table III's files with its interval and what it leaves out."""
    figures = {name: _figure(row[name]) for name in ("ratio", "low", "high") if row[name]}
    interval = f" [{figures['low']}, {figures['high']}]" if "low" in figures else ""
    shown = [figures["ratio"] + interval] if "ratio" in figures else []
    left_out = {"none": row["without"], "alone": row["alone"]}
    return ", ".join([*shown, *(f"{how} in {n}" for how, n in left_out.items() if n != "0")]) or "-"


def _figure(text: str) -> str:
    return text if text == "inf" else significant(float(text), _DIGITS)
