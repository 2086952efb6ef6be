"""How far a grouping is the samples' and how far the parameters'."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import adjusted_rand_score

from clustering.algorithm import Clustering, cluster
from clustering.errors import GroupingError
from clustering.samples import Floats, Samples


@dataclass(frozen=True, eq=False)
class Stability:
    """Agreement of groupings of resampled data with that of all samples.

    Args:
        rand_index: mean adjusted Rand index: 1 for the same groups, 0 for agreement by chance. One
            agent, or one per parameter, always has 1.
        together: float64[D, D], share of resamples in which two parameters share an agent.
    """

    rand_index: float
    together: Floats


def stability(
    samples: Samples,
    rng: np.random.Generator,
    grouping: Callable[[Samples], Clustering] = cluster,
    resamples: int = 100,
) -> Stability:
    """Bootstrap a grouping by half samples.

    Random halves without replacement vary as much as bootstrap samples do, but hold no sample
    twice, which ``cramers_v`` and ``interaction`` would take for evidence.

    Args:
        samples: of a layer.
        rng: the only source of randomness.
        grouping: ``cluster`` with some arguments, such as by ``functools.partial``.
        resamples: how many halves.

    Raises:
        GroupingError: fewer than one resample.
        SamplesError: a half says nothing on the parameters' dependence.
    """
    if resamples < 1:
        raise GroupingError(f"{resamples} resamples; allowed: 1 or more")
    whole = grouping(samples).groups.indices(samples.names)
    half = -(-len(samples) // 2)
    scores = []
    together = np.zeros((len(whole), len(whole)))
    for _ in range(resamples):
        rows = rng.permutation(len(samples))[:half]
        indices = grouping(samples.subset(rows)).groups.indices(samples.names)
        scores.append(adjusted_rand_score(whole, indices))
        together += indices[:, np.newaxis] == indices
    return Stability(float(np.mean(scores)), together / resamples)
