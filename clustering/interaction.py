"""Interaction: how two parameters affect the reward jointly, beyond their separate effects.

This is a two-way analysis of variance of the log reward over all samples, not only the best. Among
the best samples, parameters may correlate merely because both had to be good (a collider), and
interacting parameters may not: all good points may lie in one cell.
"""

from __future__ import annotations

import numpy as np

from maestro_env.clustering.bins import of_pairs
from maestro_env.clustering.errors import SamplesError
from maestro_env.clustering.samples import Floats, Integers, Samples


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
