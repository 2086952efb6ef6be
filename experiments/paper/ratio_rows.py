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


@dataclass(frozen=True)
class RatioRow:
    """What a mapper costs in multiples of another after some samples.

    Args:
        problems: that both finished searches on.
        samples: how many.
        ratio: geometric mean over problems on which both have found something valid.
        low: lower end of its interval, NaN if it has none.
        high: upper end.
        without: problems on which only the other has found something valid.
        alone: problems on which only this one has.
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

    def __str__(self) -> str:
        interval = None if math.isnan(self.low) else (self.low, self.high)
        text = bracketed(f"{self.ratio:.{_DIGITS - 1}f}", interval, _DIGITS)
        left_out = {"none": self.without, "alone": self.alone}
        return "; ".join((text, *(f"{how} in {n}" for how, n in left_out.items() if n)))


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
        if not math.isnan(found.figure[index]):
            ratio, *ends = (
                round(float(each[index]), _DIGITS) for each in (found.figure, low, high)
            )
            without, alone = int(found.without[index]), int(found.alone[index])
            yield RatioRow(found.arenas, samples, ratio, ends[0], ends[1], without, alone)


def tally(rows: Sequence[RatioRow]) -> tuple[int, int, int]:
    """Return how many ratios are below 1, above 1, and neither, with their whole interval."""
    better = sum(row.high < 1 for row in rows)
    worse = sum(row.low > 1 for row in rows)
    return better, worse, len(rows) - better - worse
