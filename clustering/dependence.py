"""Measures of dependence between parameters (Algorithm 1, step 3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from maestro_env.clustering.samples import (
    Booleans,
    Floats,
    GroupingError,
    Integers,
    Samples,
    SamplesError,
    loops_of,
    unknown,
)

BINS = 8


def of_pairs(samples: Samples, measure: Callable[[Integers, Integers], float]) -> Floats:
    """Return a measure of the categories of every two parameters that vary, float64[D, D]."""
    categories = binned(samples)
    matrix = np.eye(len(samples.names))
    for i, j in combinations(np.flatnonzero(samples.varying), 2):
        matrix[i, j] = matrix[j, i] = measure(categories[:, i], categories[:, j])
    return matrix


def binned(samples: Samples) -> Integers:
    """Return the category of every choice, int64[N, D], each column counted from 0 without gaps.

    A parameter with at most ``BINS`` choices keeps them. Of longer ones, an order's category is its
    innermost loop, a size's an equal-frequency bin.
    """
    parameters = zip(samples.points.T, samples.kinds, samples.sizes, strict=True)
    columns = [_categories(*parameter) for parameter in parameters]
    return np.stack([np.unique(column, return_inverse=True)[1] for column in columns], axis=1)


def innermost(ranks: Integers, loops: int) -> Integers:
    """Return which loop is last in each permutation, given by its lexicographic rank."""
    last = np.zeros_like(ranks)
    # The last of n items is the last of the n - 1 after the first one, renumbered past the first.
    for n in range(2, loops + 1):
        first = ranks // math.factorial(n - 1) % n
        last += first <= last
    return last


def _categories(column: Integers, kind: str, size: int) -> Integers:
    if size <= BINS or kind == "parallel":
        return column
    if kind == "order":
        return innermost(column, loops_of(size) or 1)
    # Observed values as edges: bins do not change if all samples are repeated.
    edges = np.quantile(column, np.arange(1, BINS) / BINS, method="inverted_cdf")
    return np.searchsorted(edges, column, side="left")


def interaction(samples: Samples) -> Floats:
    """Return the strength of every pair's interaction, float64[D, D].

    It is the square root of the share of the log reward's variance that the pair's interaction
    explains (omega squared, which is 0 on average for noise; negative estimates become 0), on the
    scale of a correlation. An invalid sample has the reward of the worst valid one.

    Raises:
        SamplesError: no sample is valid, or all valid ones have the same reward.
    """
    rewards = samples.rewards
    if not rewards.any():
        raise SamplesError(
            "no sample is valid: take more samples or a policy that finds valid ones"
        )
    outcome = np.log(np.maximum(rewards, rewards[rewards > 0].min()))
    outcome -= outcome.mean()
    if np.ptp(outcome) < 1e-12:
        raise SamplesError("all valid rewards are equal: take more samples or another objective")
    return of_pairs(samples, lambda i, j: float(np.sqrt(interaction_share(i, j, outcome))))


def interaction_share(first: Integers, second: Integers, outcome: Floats) -> float:
    """Return omega squared of the interaction of two factors on an outcome of mean 0, at least 0.

    Factors are categories without gaps, int64[N]. Cells may be empty or hold different numbers of
    samples: sums of squares are from least squares.
    """
    shape = rows, columns = int(first.max()) + 1, int(second.max()) + 1
    cells = first * columns + second
    counts = np.bincount(cells, minlength=rows * columns).reshape(shape).astype(float)
    sums = np.bincount(cells, outcome, minlength=rows * columns).reshape(shape)
    full = counts > 0
    freedom = len(outcome) - int(full.sum())
    if freedom < 1:
        return 0.0
    # Normal equations of the additive model: an effect for every row and every column.
    normal = np.block(
        [[np.diag(counts.sum(axis=1)), counts], [counts.T, np.diag(counts.sum(axis=0))]]
    )
    moments = np.concatenate([sums.sum(axis=1), sums.sum(axis=0)])
    effects, _, rank, _ = np.linalg.lstsq(normal, moments, rcond=1e-12)
    total, of_cells = outcome @ outcome, (sums[full] ** 2 / counts[full]).sum()
    noise = (total - of_cells) / freedom
    excess = of_cells - moments @ effects - (int(full.sum()) - rank) * noise
    return float(max(0.0, excess / (total + noise)))


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
