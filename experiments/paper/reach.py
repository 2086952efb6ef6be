"""How many samples searches need: to a cost, to a mean return, and how many times fewer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from experiments.cells import Finished
from experiments.stats import Floats
from experiments.windows import Windows

_LAST = 10
"""One part of so many of a search is what it converged to."""


@dataclass(frozen=True)
class Reach:
    """The samples that some searches needed to a target.

    Args:
        median: over searches, infinite if too few of them arrived.
        arrived: searches that did.
        searches: all of them.
        budget: samples each of them had.
    """

    median: float
    arrived: int
    searches: int
    budget: int

    @classmethod
    def of(cls, samples: Sequence[float], budget: int) -> Reach:
        """Sum up the samples of one search or more, infinite for never.

        Of an even number of searches the median is the greater of the two in the middle: if that
        one did not arrive, it is beyond the budget for certain.
        """
        arrived = int(np.count_nonzero(np.isfinite(samples)))
        return cls(float(sorted(samples)[len(samples) // 2]), arrived, len(samples), budget)

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
        return Reach(self.median + warm_up, self.arrived, self.searches, self.budget + warm_up)

    def __str__(self) -> str:
        return f"{'>' if self.censored else ''}{self.least:,.0f} ({self.arrived}/{self.searches})"


@dataclass(frozen=True)
class Factor:
    """How many times fewer samples one mapper needed than another.

    Args:
        value: the ratio, with a budget in the place of a median beyond it.
        bound: ``<`` or ``>`` if the ratio can only be less or more, ``?`` if it can be anything.
    """

    value: float
    bound: str

    def __str__(self) -> str:
        return "?" if self.bound == "?" else f"{self.bound}{self.value:.3g}x"


def factor(slow: Reach, fast: Reach) -> Factor:
    """Return how many times fewer samples ``fast`` needed than ``slow``."""
    bound = {(False, False): "", (True, False): ">", (False, True): "<", (True, True): "?"}
    return Factor(slow.least / fast.least, bound[slow.censored, fast.censored])


def mean_factor(factors: Sequence[Factor]) -> Factor:
    """Return the geometric mean; what bounds some of them bounds it, unless they disagree."""
    bounds = {each.bound for each in factors} - {""}
    value = float(np.exp(np.mean([np.log(each.value) for each in factors])))
    return Factor(value, bounds.pop() if len(bounds) == 1 else "?" if bounds else "")


def samples_to_cost(searches: Sequence[Finished], cost: float) -> Reach:
    """Return the samples that searches of one budget needed to a cost."""
    return Reach.of([each.samples_to(cost) for each in searches], searches[0].evaluations)


def samples_to_return(searches: Sequence[Finished], mean_return: float) -> Reach:
    """Return the samples that watched searches of one budget needed to a mean return."""
    samples = [first_window(windows_of(each), mean_return) for each in searches]
    return Reach.of(samples, searches[0].evaluations)


def first_window(windows: Windows, mean_return: float) -> float:
    """Return the evaluations up to the end of the first window with such a return; or infinity."""
    return float(np.append(windows.ends[windows.returns >= mean_return], np.inf)[0])


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
    """Return the median over searches of the least cost after so many samples.

    Of an even number of searches it is the greater of the two in the middle, as above.
    """
    bests = [each.best_after(np.array([samples]))[0] for each in searches]
    return float(np.quantile(bests, 0.5, method="higher"))


def windows_of(search: Finished) -> Windows:
    """Return the windows of a watched search."""
    assert search.windows is not None
    return search.windows
