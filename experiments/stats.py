"""Statistics over seeds: pure functions of arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import bootstrap, trim_mean

Floats = NDArray[np.float64]

_RESAMPLES = 2000


def best_so_far(values: Floats) -> Floats:
    """Return the least value up to and including each evaluation, shape [N] to [N]."""
    return np.minimum.accumulate(values)


def iqm(values: Floats, axis: int = 0) -> Floats:
    """Return the interquartile mean over ``axis``: a quarter is cut off at either end.

    The quarter is rounded down, so that below four values this is the mean.

    Args:
        values: float64[S, ...], infinite where a seed found nothing.
        axis: the one of the seeds.
    """
    mean: Floats = trim_mean(values, 0.25, axis=axis)
    return mean


def bootstrap_interval(values: Floats, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """Return the percentile bootstrap interval of the interquartile mean over seeds.

    Args:
        values: float64[S, N], S >= 2 seeds by N columns, finite.
        confidence: of the interval.

    Returns:
        Lower and upper ends, float64[N] each; always the same for the same values.
    """
    interval = bootstrap(
        (values,),
        iqm,
        axis=0,
        n_resamples=_RESAMPLES,
        confidence_level=confidence,
        method="percentile",
        random_state=np.random.default_rng(0),
    ).confidence_interval
    return interval.low, interval.high
