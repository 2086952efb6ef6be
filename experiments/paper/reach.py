"""How many samples searches need: to a cost, to a mean return, and how many times fewer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from experiments.cells import Finished
from experiments.stats import Floats, stratified_interval
from experiments.windows import Windows

_LAST = 10
"""One part of so many of a search is what it converged to."""


@dataclass(frozen=True)
class Reach:
    """The samples that some searches needed to a target.

    Args:
        samples: of each search, infinite if it never arrived.
        budget: samples each of them had.
        window: it arrived within so many up to and including these.
    """

    samples: tuple[float, ...]
    budget: int
    window: int = 1

    @staticmethod
    def header(who: str = "") -> tuple[str, ...]:
        """Return its columns of a file."""
        return tuple(who + field.name for field in fields(Reach))

    def row(self) -> tuple[object, ...]:
        """Return it as part of a row of a file."""
        return (" ".join(f"{each:g}" for each in self.samples), self.budget, self.window)

    @classmethod
    def of(cls, row: Mapping[str, str], who: str = "") -> Reach:
        """Read it from a row of a file."""
        samples, budget, window = (row[name] for name in cls.header(who))
        return cls(tuple(map(float, samples.split())), int(budget), int(window))

    @property
    def median(self) -> float:
        """The median over searches, infinite if too few of them arrived."""
        return float(middle(np.array(self.samples)))

    @property
    def arrived(self) -> int:
        """How many searches did."""
        return int(np.count_nonzero(np.isfinite(self.samples)))

    @property
    def censored(self) -> bool:
        """Whether the budget ended before the median search arrived."""
        return math.isinf(self.median)

    @property
    def least(self) -> float:
        """Samples the median search needed, or the budget it needs more than."""
        return min(self.median, float(self.budget))

    def after(self, warm_up: int) -> Reach:
        """Return the same with samples spent before each search began."""
        samples = tuple(each + warm_up for each in self.samples)
        return replace(self, samples=samples, budget=self.budget + warm_up)

    def __str__(self) -> str:
        return f"{self.told} ({self.arrived}/{len(self.samples)})"

    @property
    def told(self) -> str:
        """The median; the first window says no more than that it is within that."""
        at_most = self.median <= self.window and self.window > 1
        bound = ">" if self.censored else "<=" if at_most else ""
        return f"{bound}{self.least:,.0f}"


def middle(samples: Floats) -> Floats:
    """Return the median over searches, float64[S, ...] to [...].

    Of an even number of searches it is the greater of the two in the middle: if that one did not
    arrive, it is beyond the budget for certain.
    """
    median: Floats = np.sort(samples, axis=0)[len(samples) // 2]
    return median


@dataclass(frozen=True)
class Factor:
    """How many times fewer samples one mapper needed than another.

    Args:
        value: the ratio of medians, with a budget in the place of one beyond it.
        bound: ``<`` or ``>`` if the ratio can only be less or more, ``?`` if it can be anything.
        low: end of its 95 % bootstrap interval over seeds, 0 where a seed alone tells no spread.
            It is that of the least the ratio can be, seeing that searches arrive somewhere within a
            window, or after their budget.
        high: the other end, that of the most it can be; infinite likewise.
    """

    value: float
    bound: str
    low: float
    high: float

    def __str__(self) -> str:
        return "?" if self.bound == "?" else f"{self.bound}{self.value:.3g}x"

    @property
    def told(self) -> str:
        """It and its interval; one that excludes nothing is none."""
        if not self.low and math.isinf(self.high):
            return f"{self} (no interval)"
        return f"{self} [{self.low:.3g}, {self.high:.3g}]"


def factor(slow: Reach, fast: Reach) -> Factor:
    """Return how many times fewer samples ``fast`` needed than ``slow``."""
    return mean_factor([(slow, fast)])


def mean_factor(pairs: Sequence[tuple[Reach, Reach]]) -> Factor:
    """Return the geometric mean over pairs of a slow and a fast one.

    What bounds some of the ratios bounds it, unless they disagree.
    """
    bounds = {_BOUNDS[slow.censored, fast.censored] for slow, fast in pairs} - {""}
    value = math.exp(np.mean([math.log(slow.least / fast.least) for slow, fast in pairs]))
    strata = [np.array(each.samples) for pair in pairs for each in pair]
    low, high = 0.0, math.inf
    if all(len(stratum) > 1 for stratum in strata):
        low = float(stratified_interval(strata, partial(_bounded, pairs, False))[0])
        high = float(stratified_interval(strata, partial(_bounded, pairs, True))[1])
    return Factor(value, bounds.pop() if len(bounds) == 1 else "?" if bounds else "", low, high)


_BOUNDS = {(False, False): "", (True, False): ">", (False, True): "<", (True, True): "?"}
"""By whether the slow one and the fast one are beyond their budgets."""


def _bounded(pairs: Sequence[tuple[Reach, Reach]], most: bool, strata: Sequence[Floats]) -> Floats:
    """Return the least or the most the mean of factors can be, for resampled searches."""
    medians = [middle(stratum) for stratum in strata]
    with np.errstate(divide="ignore"):
        logs = [
            np.log(_end(slow, top, latest=most)) - np.log(_end(fast, bottom, latest=not most))
            for (slow, fast), top, bottom in zip(pairs, medians[::2], medians[1::2], strict=True)
        ]
    # Of pairs that can be anything, the least is 0 and the most infinite.
    mean: Floats = np.exp(np.mean(logs, axis=0))
    return mean


def _end(reach: Reach, median: Floats, *, latest: bool) -> Floats:
    """Return the least or the most samples that a median stands for."""
    if latest:
        return median
    began: Floats = median - reach.window + 1
    return np.where(np.isinf(median), reach.budget, began)


def samples_to_cost(searches: Sequence[Finished], cost: float) -> Reach:
    """Return the samples that searches of one budget needed to a cost."""
    samples = tuple(each.samples_to(cost) for each in searches)
    return Reach(samples, searches[0].evaluations)


def samples_to_return(searches: Sequence[Finished], mean_return: float, width: float = 0) -> Reach:
    """Return the samples that watched searches of one budget needed to a mean return.

    Args:
        searches: some.
        mean_return: of a window.
        width: of windows at least, in samples: the wider they are the later they end, so that only
            those of equal width can be compared.
    """
    arrivals = []
    for each in searches:
        ends, returns = widened(windows_of(each), width)
        arrivals.append(float(np.append(ends[returns >= mean_return], np.inf)[0]))
    return Reach(tuple(arrivals), searches[0].evaluations, int(ends[0]))


def width_of(search: Finished) -> float:
    """Return the samples of a window of a watched search."""
    ends = windows_of(search).ends
    return float(ends[-1] / len(ends))


def widened(windows: Windows, width: float) -> tuple[NDArray[np.int64], Floats]:
    """Return the ends and mean returns of windows of about such a width, made of whole ones.

    Args:
        windows: that are no wider; if they are, they are left as they are.
        width: in samples.
    """
    widths = np.diff(windows.ends, prepend=0)
    several = max(1, round(width / float(widths.mean())))
    starts = np.arange(0, len(widths), several)
    totals = np.add.reduceat(windows.returns * widths, starts)
    samples = np.add.reduceat(widths, starts)
    return np.cumsum(samples), totals / samples


def converged(values: Floats) -> Floats:
    """Return the mean over the last tenth of W windows, shape [W, ...] to [...]."""
    mean: Floats = values[-max(1, len(values) // _LAST) :].mean(axis=0)
    return mean


def converged_return(searches: Sequence[Finished]) -> float:
    """Return the median over watched searches of the mean return they converged to.

    Of an even number of searches it is the lesser of the two in the middle, so that more than half
    of them have reached it themselves.
    """
    returns = [converged(windows_of(each).returns) for each in searches]
    return float(np.quantile(returns, 0.5, method="lower"))


def median_best(searches: Sequence[Finished], samples: int) -> float:
    """Return the median over searches of the least cost after so many samples (``middle``)."""
    return float(middle(bests(searches, samples)))


def bests(searches: Sequence[Finished], samples: int) -> Floats:
    """Return the least cost of every search after so many samples, float64[S]."""
    return np.array([each.best_after(np.array([samples]))[0] for each in searches])


def windows_of(search: Finished) -> Windows:
    """Return the windows of a watched search."""
    assert search.windows is not None
    return search.windows
