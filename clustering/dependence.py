"""How much parameters depend on each other (Algorithm 1, step 3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType

import numpy as np

from clustering.bins import binned
from clustering.errors import GroupingError, SamplesError, unknown
from clustering.interaction import interaction
from clustering.samples import Booleans, Floats, Integers, Samples


@dataclass(frozen=True, eq=False)
class Dependence:
    """Dependence between D parameters.

    Args:
        names: of the parameters.
        matrix: float64[D, D], symmetric, ones on the diagonal.
        varying: bool[D]; of a parameter without variance nothing is known, and its dependence on
            every other is 0.
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
        of_top: whether it is given the best samples rather than all.
        summary: one line for users.
    """

    function: Callable[[Samples], Floats]
    of_top: bool
    summary: str


def pearson(samples: Samples) -> Floats:
    """Return Pearson's r of every pair of choices, as the paper does.

    It sees monotone dependence between sizes. The number of a parallel dimension and the rank of an
    order are numbers only by name: r of them means little.
    """
    matrix = np.eye(len(samples.names))
    varying = np.flatnonzero(samples.varying)
    if len(varying) > 1:
        r = np.corrcoef(samples.points[:, varying], rowvar=False).clip(-1, 1)
        np.fill_diagonal(r, 1)
        # The two halves may differ in the last bit.
        matrix[np.ix_(varying, varying)] = (r + r.T) / 2
    return matrix


def cramers_v(samples: Samples) -> Floats:
    """Return Cramer's V of every pair, corrected for bias: 0 for independence, to 1.

    It suits any kind of parameter, as it counts categories (see ``bins``) and gives them no order.
    The correction is Bergsma's, *A bias-correction for Cramer's V and Tschuprow's T*, 2013.
    """
    categories = binned(samples)
    matrix = np.eye(len(samples.names))
    for i, j in combinations(np.flatnonzero(samples.varying), 2):
        matrix[i, j] = matrix[j, i] = corrected_v(categories[:, i], categories[:, j])
    return matrix


def corrected_v(first: Integers, second: Integers) -> float:
    """Return Bergsma's Cramer's V of two columns of categories, int64[N] without gaps each."""
    n, rows, columns = len(first), int(first.max()) + 1, int(second.max()) + 1
    counts = np.bincount(first * columns + second, minlength=rows * columns).reshape(rows, columns)
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / n
    square = float(((counts - expected) ** 2 / expected).sum()) / n
    square = max(0.0, square - (rows - 1) * (columns - 1) / (n - 1))
    least = min(size - 1 - (size - 1) ** 2 / (n - 1) for size in (rows, columns))
    return float(np.sqrt(min(1.0, square / least))) if least > 0 else 0.0


MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        "pearson": Measure(pearson, True, "Pearson's r among the best samples (the paper's)"),
        "cramers_v": Measure(cramers_v, True, "Cramer's V of categories among the best samples"),
        "interaction": Measure(
            interaction, False, "what pairs explain of the log reward of all samples, not alone"
        ),
    }
)
"""Measures of dependence by name."""


def measure_dependence(
    samples: Samples, measure: str = "pearson", fraction: float = 0.15
) -> Dependence:
    """Measure the dependence between all pairs of parameters.

    Args:
        samples: all of them, good and bad.
        measure: a name of ``MEASURES``.
        fraction: of samples that are the best ones, for measures that look at these alone.

    Raises:
        GroupingError: no such measure.
        SamplesError: rewards all the same, or samples without what the measure looks at.
    """
    if measure not in MEASURES:
        raise GroupingError(unknown("measure", measure, MEASURES))
    _require_contrast(samples.rewards)
    looked_at = samples.top(fraction) if MEASURES[measure].of_top else samples
    if not looked_at.varying.any():
        raise SamplesError(
            f"no parameter varies among the {len(looked_at)} samples looked at: take more samples, "
            "a larger fraction of them or another policy"
        )
    matrix = MEASURES[measure].function(looked_at)
    return Dependence(samples.names, matrix, looked_at.varying, measure)


def _require_contrast(rewards: Floats) -> None:
    """Refuse valid samples of which none is better than another."""
    least = rewards.min()
    if 0 < least == rewards.max():
        raise SamplesError(
            f"all {len(rewards)} rewards are {least:.4g}: nothing tells the best samples from the "
            "others; take more samples or another objective"
        )
