"""Interaction: how two parameters affect the reward jointly, beyond their separate effects.

This is a two-way analysis of variance of the log reward over all samples, not only the best. Among
the best samples, parameters may correlate merely because both had to be good (a collider), and
interacting parameters may not: all good points may lie in one cell.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from clustering.bins import binned
from clustering.errors import SamplesError
from clustering.samples import Floats, Integers, Samples


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
    categories = binned(samples)
    matrix = np.eye(len(samples.names))
    for i, j in combinations(np.flatnonzero(samples.varying), 2):
        share = interaction_share(categories[:, i], categories[:, j], outcome)
        matrix[i, j] = matrix[j, i] = np.sqrt(share)
    return matrix


def interaction_share(first: Integers, second: Integers, outcome: Floats) -> float:
    """Return omega squared of the interaction of two factors, at least 0.

    Cells may be empty or hold different numbers of samples: sums of squares are from least squares.

    Args:
        first: int64[N], categories from 0 on without gaps.
        second: int64[N], likewise.
        outcome: float64[N] of mean 0.
    """
    rows, columns = int(first.max()) + 1, int(second.max()) + 1
    cells = first * columns + second
    shape = (rows, columns)
    counts = np.bincount(cells, minlength=rows * columns).reshape(shape).astype(float)
    sums = np.bincount(cells, outcome, minlength=rows * columns).reshape(shape)
    total = float(outcome @ outcome)
    full = counts > 0
    of_cells = float((sums[full] ** 2 / counts[full]).sum())
    # Normal equations of the additive model: an effect for every row and every column.
    normal = np.block(
        [[np.diag(counts.sum(axis=1)), counts], [counts.T, np.diag(counts.sum(axis=0))]]
    )
    moments = np.concatenate([sums.sum(axis=1), sums.sum(axis=0)])
    effects, _, rank, _ = np.linalg.lstsq(normal, moments, rcond=1e-12)
    of_effects = float(moments @ effects)
    freedom = len(outcome) - int(full.sum())
    if freedom < 1:
        return 0.0
    noise = (total - of_cells) / freedom
    excess = of_cells - of_effects - (int(full.sum()) - rank) * noise
    return float(max(0.0, excess / (total + noise)))
