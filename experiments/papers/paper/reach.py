"""How many samples searches need to a cost or a mean return, and how many times fewer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from maestro_env.experiments.search.cells import Windows
from maestro_env.experiments.shown.statistics import Floats, has_interval, stratified_interval

_LAST = 10
"""A search has converged to the mean of the last of so many parts."""
REACH_COLUMNS = ("samples", "budget", "window")
Figure = Callable[[Sequence[Floats]], Floats]


@dataclass(frozen=True)
class Reach:
    """The samples that some searches needed to a target.

    Args:
        samples: of each search, infinite if it never arrived.
        budget: samples each of them had.
        window: samples are known to be within so many up to and including these.
    """

    samples: tuple[float, ...]
    budget: int
    window: int = 1

    def row(self) -> tuple[object, ...]:
        return " ".join(f"{each:g}" for each in self.samples), self.budget, self.window

    @classmethod
    def of(cls, row: Mapping[str, str], prefix: str = "") -> Reach:
        """Read it from a row of a file."""
        samples, budget, window = (row[prefix + name] for name in REACH_COLUMNS)
        return cls(tuple(map(float, samples.split())), int(budget), int(window))

    @property
    def median(self) -> float:
        """Infinite if too few searches arrived."""
        return float(middle(np.array(self.samples)))

    @property
    def censored(self) -> bool:
        """Whether the budget ended before the median search arrived."""
        return math.isinf(self.median)

    @property
    def least(self) -> float:
        """Samples of the median search, or the budget it needs more than."""
        return min(self.median, float(self.budget))

    def earliest(self, median: Floats) -> Floats:
        """Return the least samples that a median of such searches stands for."""
        return np.where(np.isinf(median), self.budget, median - self.window + 1)

    def after(self, warm_up: int) -> Reach:
        """Return the same with samples spent before each search began."""
        samples = tuple(each + warm_up for each in self.samples)
        return replace(self, samples=samples, budget=self.budget + warm_up)

    def __str__(self) -> str:
        # The first window only says that the median is within it.
        at_most = self.median <= self.window and self.window > 1
        bound = ">" if self.censored else "<=" if at_most else ""
        arrived = np.count_nonzero(np.isfinite(self.samples))
        return f"{bound}{self.least:,.0f} ({arrived}/{len(self.samples)})"


def middle(samples: Floats) -> Floats:
    """Return the median over searches, float64[S, ...] to [...].

    Of an even number of searches it is the greater of the two in the middle: if that one did not
    arrive, the median is beyond the budget for certain.
    """
    median: Floats = np.sort(samples, axis=0)[len(samples) // 2]
    return median


def interval(
    strata: Sequence[Floats], least: Figure, most: Figure | None = None
) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of a figure; everything if a stratum has one value.

    Where the figure is known within bounds only, it goes from the lower end of the least it can be
    to the upper end of the most.
    """
    if not has_interval(strata):
        return 0.0, math.inf
    low, high = stratified_interval(strata, least)
    if most:
        _, high = stratified_interval(strata, most)
    return float(low), float(high)


@dataclass(frozen=True)
class Factor:
    """How many times fewer samples one mapper needed than another.

    Args:
        value: the ratio of medians, with a budget in the place of one beyond it.
        bound: ``<`` or ``>`` if the ratio can only be less or more, ``?`` if it can be anything.
        low: lower end of the 95 % bootstrap interval over seeds of the least the ratio can be: a
            search arrives somewhere within a window, or after its budget. 0 with one seed.
        high: upper end of that of the most it can be; infinite with one seed.
    """

    value: float
    bound: str
    low: float
    high: float

    def __str__(self) -> str:
        return "?" if self.bound == "?" else f"{self.bound}{self.value:.3g}x"

    @property
    def told(self) -> str:
        """It and its interval, unless that excludes nothing."""
        if self.bound == "?":
            return "undetermined"
        if not self.low and math.isinf(self.high):
            return f"{self} (no interval)"
        return f"{self} [{self.low:.3g}, {self.high:.3g}]"


_BOUNDS = {(False, False): "", (True, False): ">", (False, True): "<", (True, True): "?"}
"""By whether some of the slow and some of the fast ones are beyond their budgets."""


def mean_factor(pairs: Sequence[tuple[Reach, Reach]], own: bool = False) -> Factor:
    """Return the geometric mean over pairs of how many times fewer samples the fast one needed.

    A bound on some of the ratios bounds the mean, unless they disagree.

    Args:
        pairs: what a slow and a fast mapper needed; without any the mean can be anything.
        own: whether the target is the one that the median slow search reaches, so that it lies
            within the slow budget by definition, also where a resample of few seeds misses it.
    """
    if not pairs:
        return Factor(1, "?", 0, math.inf)
    slow_late, fast_late = (
        any(each.censored for each in side) for side in zip(*pairs, strict=True)
    )
    value = math.exp(np.mean([math.log(slow.least / fast.least) for slow, fast in pairs]))

    def extreme(drawn: Sequence[Floats], most: bool = False) -> Floats:
        medians = [middle(each) for each in drawn]
        logs = []
        with np.errstate(divide="ignore"):
            for (slow, fast), top, bottom in zip(pairs, medians[::2], medians[1::2], strict=True):
                latest = np.minimum(top, slow.budget) if own else top
                ends = (latest, fast.earliest(bottom)) if most else (slow.earliest(latest), bottom)
                logs.append(np.log(ends[0]) - np.log(ends[1]))
        return np.asarray(np.exp(np.mean(logs, axis=0)))

    strata = [np.array(each.samples) for pair in pairs for each in pair]
    ends = interval(strata, extreme, partial(extreme, most=True))
    return Factor(value, _BOUNDS[slow_late, fast_late], *ends)


def samples_to_return(searches: Sequence[Windows], mean_return: float, width: float = 0) -> Reach:
    """Return the samples that searches of one budget needed to a mean return of a window.

    Windows are merged to at least ``width`` samples: only windows of equal width compare.
    """
    arrivals = []
    for each in searches:
        ends, returns = widened(each, width)
        arrivals.append(float(np.append(ends[returns >= mean_return], np.inf)[0]))
    return Reach(tuple(arrivals), int(ends[-1]), int(ends[0]))


def widened(windows: Windows, width: float) -> tuple[NDArray[np.int64], Floats]:
    """Return the ends and mean returns of windows of about a width, made of whole ones."""
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


def converged_return(searches: Sequence[Windows]) -> float:
    """Return the median over searches of the mean return they converged to.

    Of an even number it is the lesser of the two in the middle, so that more than half of the
    searches have reached it.
    """
    returns = [converged(each.returns) for each in searches]
    return float(np.quantile(returns, 0.5, method="lower"))


def at_least(low: float, high: float, threshold: float) -> bool | None:
    """Say whether what an interval is of reaches a threshold; None if the threshold is inside."""
    if low >= threshold:
        return True
    return False if high < threshold else None


def at_most(low: float, high: float, threshold: float) -> bool | None:
    """Say whether what an interval is of is within a threshold; None if that is inside."""
    return at_least(-high, -low, -threshold)


def everywhere(verdicts: Iterable[bool | None]) -> bool | None:
    """Say whether all hold: False if one does not, otherwise None if one is not decided."""
    found = list(verdicts)
    if False in found:
        return False
    return None if None in found or not found else True


def mostly(verdicts: Iterable[bool | None]) -> bool | None:
    """Say whether more than half hold; None if those not decided could change that."""
    yes, no, undecided = tally(verdicts)
    of = yes + no + undecided
    if 2 * yes > of:
        return True
    return False if 2 * no >= of and of else None


def tally(verdicts: Iterable[bool | None]) -> tuple[int, int, int]:
    """Return how many hold, how many do not, and how many are not decided."""
    found = list(verdicts)
    return found.count(True), found.count(False), found.count(None)
