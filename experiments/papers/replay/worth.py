"""How many independent rows a batch is worth: what rows that resemble each other cost.

The mean of n independent rows has the variance of a row divided by n. A batch whose mean has that
variance is worth n rows, however many it has.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maestro_env.experiments.shown.statistics import Floats
from maestro_env.mappers.papers.replay.layouts import Replay
from maestro_env.mappers.papers.replay.samplers import Sampler

_BATCHES = 1000


@dataclass(frozen=True)
class Worth:
    """Independent rows that a batch is worth, by what is averaged."""

    observations: float
    rewards: float


def worth(replay: Replay, sampler: Sampler, batch: int) -> Worth:
    """Return what batches of a sampler are worth, from the means of 1,000 of them.

    Each is of all numbers of a kind: the variances of their means, divided by the variances of the
    numbers themselves over all rows, are averaged. Numbers that never change do not count.
    """
    every = replay.gather(np.arange(len(replay)))
    table = np.hstack([*every.observations, every.rewards]).astype(np.float64)
    means = np.array([table[sampler.rows(batch)].mean(axis=0) for _ in range(_BATCHES)])
    seen = sum(replay.fields.observations)
    kinds = (slice(seen), slice(seen, None))
    return Worth(*(_rows(table[:, kind], means[:, kind]) for kind in kinds))


def _rows(numbers: Floats, means: Floats) -> float:
    """Return the independent rows whose means vary as those of batches, float64[..., w] each."""
    variances = numbers.var(axis=0)
    changing = variances > 0
    return float(1 / (means.var(axis=0, ddof=1)[changing] / variances[changing]).mean())
