"""Statistics over seeds and tasks: pure functions of arrays.

They follow Agarwal et al., *Deep Reinforcement Learning at the Edge of the Statistical Precipice*,
2021, and their library rliable, with least for best.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_RESAMPLES = 2000


def iqm(values: Floats) -> Floats:
    """Return the interquartile mean over seeds: a quarter of them is cut off at either end.

    The quarter is rounded down, so that below four values this is the mean. It is float64[...] of
    values float64[S, ...], which are infinite where a seed found nothing.
    """
    if len(values) == 1:
        only: Floats = values[0]
        return only
    from scipy.stats import trim_mean  # It takes half a second, which one seed need not.

    mean: Floats = trim_mean(values, 0.25, axis=0)
    return mean


def log_mean(values: Floats) -> Floats:
    """Return the geometric mean over the first axis, float64[...] of float64[P, ...]."""
    mean: Floats = np.exp(np.mean(np.log(values), axis=0))
    return mean


def quantile(values: Floats, share: float) -> Floats:
    """Return the least value that a share of float64[P, ...] do not exceed, float64[...]."""
    least: Floats = np.quantile(values, share, axis=0, method="inverted_cdf")
    return least


def bootstrap_interval(
    values: Floats, confidence: float = 0.95, figure: Callable[[Floats], Floats] = iqm
) -> tuple[Floats, Floats]:
    """Return the percentile bootstrap interval of a figure over seeds, or over problems.

    Both ends are float64[...] of values float64[S, ...], the same ones for the same values.
    """
    return stratified_interval([values], lambda strata: figure(strata[0]), confidence)


class Estimate(NamedTuple):
    """A figure of several samples, and its 95 % interval: NaN where one has a single seed."""

    figure: Floats
    low: Floats
    high: Floats


def estimate(strata: Sequence[Floats], figure: Callable[[Sequence[Floats]], Floats]) -> Estimate:
    """Return a figure of several samples, float64[S, ...] each, and its bootstrap interval."""
    found = figure(strata)
    if has_interval(strata):
        return Estimate(found, *stratified_interval(strata, figure))
    return Estimate(found, *np.full((2, *np.shape(found)), np.nan))


def has_interval(strata: Sequence[Floats]) -> bool:
    """Return whether a figure of samples has a bootstrap interval: two seeds or more of each."""
    return all(len(stratum) > 1 for stratum in strata)


def stratified_interval(
    strata: Sequence[Floats], figure: Callable[[list[Floats]], Floats], confidence: float = 0.95
) -> tuple[Floats, Floats]:
    """Return the percentile bootstrap interval of a figure of several samples.

    Seeds are drawn with replacement within each stratum, independently of the others.

    Args:
        strata: float64[S, ...] each, such as one array a task; S may differ.
        figure: makes an array of strata, whatever axes follow their first one.
        confidence: of the interval.

    Returns:
        Lower and upper ends, of the figure's shape; always the same for the same strata.
    """
    rng = np.random.default_rng(0)
    drawn = [
        stratum[rng.integers(len(stratum), size=(len(stratum), _RESAMPLES))] for stratum in strata
    ]
    figures = figure(drawn)
    # Order statistics, without interpolation: an end may be infinite.
    outside = int((1 - confidence) / 2 * _RESAMPLES)
    ends = (outside, _RESAMPLES - 1 - outside)
    ordered = np.partition(figures, ends, axis=0)
    return ordered[ends[0]], ordered[ends[1]]


def geometric_mean(tasks: Sequence[Floats]) -> Floats:
    """Return the geometric mean over tasks, float64[S, ...] each, of the interquartile mean."""
    return log_mean(np.array([iqm(task) for task in tasks]))


def probability_of_improvement(x: Floats, y: Floats) -> Floats:
    """Return the chance that a value of x is less than one of y; half of it if they are equal.

    Of float64[S, ...] and float64[U, ...] it is the Mann-Whitney statistic over S times U.
    """
    left, right = x[:, np.newaxis], y[np.newaxis]
    wins = np.count_nonzero(left < right, axis=(0, 1))
    ties = np.count_nonzero(left == right, axis=(0, 1))
    chance: Floats = (wins + 0.5 * ties) / (len(x) * len(y))
    return chance


def performance_profile(tasks: Sequence[Floats], limits: Floats) -> Floats:
    """Return the share of values within each limit, float64[..., L], as the mean over tasks.

    Tasks are float64[S, ...] each, such as ratios to the best known; limits are float64[L].
    """
    shares = [np.mean(task[..., np.newaxis] <= limits, axis=0) for task in tasks]
    profile: Floats = np.mean(shares, axis=0)
    return profile
