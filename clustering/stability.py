"""Stability: how much a grouping depends on the samples it was learnt from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from maestro_env.clustering.algorithm import Clustering, cluster
from maestro_env.clustering.errors import GroupingError
from maestro_env.clustering.samples import Integers, Samples


@dataclass(frozen=True)
class Stability:
    """Agreement of groupings of random halves of the samples.

    Agreement is the mean adjusted Rand index: 1 for the same groups, 0 for agreement by chance.
    One agent, or one per parameter, always has 1.

    Args:
        with_whole: of halves with the grouping of all samples. As these contain the half, new
            samples would agree less.
        of_halves: of two disjoint halves: the agreement expected of new samples, half as many.
    """

    with_whole: float
    of_halves: float


def stability(
    samples: Samples,
    rng: np.random.Generator,
    grouping: Callable[[Samples], Clustering] = cluster,
    splits: int = 50,
) -> Stability:
    """Bootstrap a grouping by half samples.

    Random halves without replacement vary as much as bootstrap samples, but repeat no sample;
    ``cramers_v`` and ``interaction`` would count repetitions as evidence.

    Args:
        samples: of a layer.
        rng: the only source of randomness.
        grouping: ``cluster``, or with arguments bound by ``functools.partial``.
        splits: number of random splits into two halves.

    Raises:
        GroupingError: fewer than one split.
        SamplesError: a half has no information on the parameters' dependence.
    """
    from sklearn.metrics import adjusted_rand_score  # It takes a second, which --help need not.

    if splits < 1:
        raise GroupingError(f"{splits} splits; allowed: 1 or more")

    def agents(rows: Integers) -> Integers:
        return grouping(samples.subset(rows)).groups.indices(samples.names)

    whole = agents(np.arange(len(samples)))
    half = len(samples) // 2
    with_whole, of_halves = [], []
    for _ in range(splits):
        rows = rng.permutation(len(samples))
        halves = agents(rows[:half]), agents(rows[half : 2 * half])
        of_halves.append(adjusted_rand_score(*halves))
        with_whole += [adjusted_rand_score(whole, each) for each in halves]
    return Stability(float(np.mean(with_whole)), float(np.mean(of_halves)))
