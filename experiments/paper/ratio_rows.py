"""Cost ratios as rows of files and cells of tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from experiments.paper.arena import Arena
from experiments.paper.ratios import cost_ratio
from experiments.sheets import bracketed

_DIGITS = 4
LEFT_OUT = (
    "*none in 2*: in so many of these its interquartile mean is infinite, as too few of its "
    "searches have a valid mapping yet, and that of what it is compared with is not; *alone in 2*: "
    "the other way round; both are left out."
)
"""Explains what rows leave out."""


@dataclass(frozen=True)
class RatioRow:
    """What a mapper costs in multiples of another after some samples.

    Args:
        problems: that both finished searches on.
        samples: how many.
        ratio: geometric mean over problems where the interquartile means of both are finite; NaN if
            they are nowhere.
        low: lower end of its interval, NaN if it has none.
        high: upper end.
        without: problems where only the other's is finite.
        alone: problems where only this one's is.
    """

    problems: int
    samples: int
    ratio: float
    low: float
    high: float
    without: int
    alone: int

    @classmethod
    def of(cls, row: Mapping[str, str]) -> RatioRow:
        """Read it from a row of a file."""
        return cls(
            problems=int(row["problems"]),
            samples=int(row["samples"]),
            ratio=float(row["ratio"]),
            low=float(row["low"]),
            high=float(row["high"]),
            without=int(row["without"]),
            alone=int(row["alone"]),
        )

    @property
    def better(self) -> bool:
        """Whether it costs less for certain, and is nowhere without what the other has."""
        less = self.alone > 0 if math.isnan(self.ratio) else self.high < 1
        return less and not self.without

    @property
    def worse(self) -> bool:
        """Whether it is the other way round."""
        more = self.without > 0 if math.isnan(self.ratio) else self.low > 1
        return more and not self.alone

    def __str__(self) -> str:
        interval = None if math.isnan(self.low) else (self.low, self.high)
        figure = f"{self.ratio:.{_DIGITS - 1}f}"
        shown = [] if math.isnan(self.ratio) else [bracketed(figure, interval, _DIGITS)]
        left_out = {"none": self.without, "alone": self.alone}
        return "; ".join([*shown, *(f"{how} in {n}" for how, n in left_out.items() if n)])


def ratio_rows(
    arenas: Sequence[Arena], mapper: str, base: str, checkpoints: Sequence[int]
) -> Iterator[RatioRow]:
    """Yield what a mapper costs in multiples of another, wherever that can be told.

    Args:
        arenas: some; those that lack one of both are left out.
        mapper: the numerator.
        base: the denominator.
        checkpoints: numbers of samples.
    """
    found = cost_ratio(arenas, mapper, base, np.array(checkpoints))
    low, high = found.interval or (np.full(len(checkpoints), np.nan),) * 2
    for index, samples in enumerate(checkpoints):
        without, alone = int(found.without[index]), int(found.alone[index])
        if without or alone or not math.isnan(found.figure[index]):
            ratio, *ends = (
                round(float(each[index]), _DIGITS) for each in (found.figure, low, high)
            )
            yield RatioRow(found.arenas, samples, ratio, ends[0], ends[1], without, alone)


def tally(rows: Sequence[RatioRow]) -> tuple[int, int, int]:
    """Return how many are better, worse, and not told apart."""
    better, worse = sum(row.better for row in rows), sum(row.worse for row in rows)
    return better, worse, len(rows) - better - worse
