"""Measures of dependence between parameters (Algorithm 1, step 3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from maestro_env.clustering.bins import of_pairs
from maestro_env.clustering.errors import GroupingError, SamplesError, unknown
from maestro_env.clustering.interaction import interaction
from maestro_env.clustering.samples import Booleans, Floats, Integers, Samples


@dataclass(frozen=True, eq=False)
class Dependence:
    """Dependence between D parameters.

    Args:
        names: of the parameters.
        matrix: float64[D, D], symmetric, ones on the diagonal.
        varying: bool[D], which parameters vary; the dependence of one without variance is 0.
        measure: a name of ``MEASURES``.
    """

    names: tuple[str, ...]
    matrix: Floats
    varying: Booleans
    measure: str


@dataclass(frozen=True)
class Measure:
    """A way to measure dependence.

    Args:
        function: samples to float64[D, D].
        of_top: whether it uses only the best samples.
        summary: one line for users.
    """

    function: Callable[[Samples], Floats]
    of_top: bool
    summary: str


def pearson(samples: Samples) -> Floats:
    """Return Pearson's r of every pair of choices, as the paper does.

    It detects monotone dependence between sizes. Parallel dimensions and ranks of orders are not
    quantities: their r means little.
    """
    matrix = np.eye(len(samples.names))
    varying = np.flatnonzero(samples.varying)
    if len(varying) > 1:
        r = np.corrcoef(samples.points[:, varying], rowvar=False).clip(-1, 1)
        np.fill_diagonal(r, 1)
        # r and its transpose may differ in the last bit.
        matrix[np.ix_(varying, varying)] = (r + r.T) / 2
    return matrix


def cramers_v(samples: Samples) -> Floats:
    """Return Cramer's V of every pair, corrected for bias: 0 for independence, to 1.

    It suits all kinds of parameters, as it counts unordered categories (see ``bins``).
    The correction is Bergsma's, *A bias-correction for Cramer's V and Tschuprow's T*, 2013.
    """
    return of_pairs(samples, corrected_v)


def corrected_v(first: Integers, second: Integers) -> float:
    """Return Bergsma's Cramer's V of two columns of categories, int64[N] without gaps each."""
    n, rows, columns = len(first), int(first.max()) + 1, int(second.max()) + 1
    counts = np.bincount(first * columns + second, minlength=rows * columns).reshape(rows, columns)
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / n
    square = float(((counts - expected) ** 2 / expected).sum()) / n
    square = max(0.0, square - (rows - 1) * (columns - 1) / (n - 1))
    least = min(size - 1 - (size - 1) ** 2 / (n - 1) for size in (rows, columns))
    return float(np.sqrt(min(1.0, square / least))) if least > 0 else 0.0


MEASURES: Mapping[str, Measure] = {
    "pearson": Measure(pearson, True, "Pearson's r among the best samples (the paper's)"),
    "cramers_v": Measure(cramers_v, True, "Cramer's V of categories among the best samples"),
    "interaction": Measure(
        interaction, False, "interaction of pairs on the log reward of all samples"
    ),
}
"""Measures of dependence by name."""


def measure_dependence(
    samples: Samples, measure: str = "pearson", fraction: float = 0.15
) -> Dependence:
    """Measure the dependence between all pairs of parameters.

    Args:
        samples: all of them, good and bad.
        measure: a name of ``MEASURES``.
        fraction: share of samples that count as the best, for measures that use only these.

    Raises:
        GroupingError: no such measure.
        SamplesError: all rewards are equal, or the samples lack what the measure needs.
    """
    if measure not in MEASURES:
        raise GroupingError(unknown("measure", measure, MEASURES))
    least = samples.rewards.min()
    if 0 < least == samples.rewards.max():
        raise SamplesError(
            f"all {len(samples)} rewards are {least:.4g}: there are no best samples; "
            "take more samples or another objective"
        )
    looked_at = samples.top(fraction) if MEASURES[measure].of_top else samples
    if not looked_at.varying.any():
        raise SamplesError(
            f"no parameter varies among the {len(looked_at)} samples used: take more samples, "
            "a larger fraction of them or another policy"
        )
    matrix = MEASURES[measure].function(looked_at)
    return Dependence(samples.names, matrix, looked_at.varying, measure)
