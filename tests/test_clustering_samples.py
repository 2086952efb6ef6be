from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from clustering_helpers import sizes_samples

from maestro_env.clustering import Samples, SamplesError, cluster

GOOD = Samples(
    ("l2_order", "l2_parallel", "cluster_size"),
    ("order", "parallel", "cluster"),
    (6, 3, 10),
    np.array([[0, 0, 0], [5, 2, 9], [1, 1, 4], [3, 0, 7]]),
    np.array([1.0, 0.0, 2.0, 0.5]),
)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"names": ()}, r"names of parameters are \(\)"),
        ({"names": ("a", "b", "a")}, "allowed: one or more, once"),
        ({"names": ("a", "b")}, "2, 3 and 3 names, kinds and sizes"),
        ({"kinds": ("order", "paralel", "tile")}, "unknown kind 'paralel': did you mean parallel?"),
        ({"sizes": (6, 3, 0)}, "cluster_size has 0 choices; allowed for kind cluster: 1 or more"),
        ({"sizes": (7, 3, 10)}, "l2_order has 7 choices; allowed for kind order: 1, 2, 6, 24"),
        ({"points": GOOD.points[:3]}, r"int64 of shape \(3, 3\): allowed: integers of shape \(4"),
        ({"points": GOOD.points.astype(float)}, "points are float64"),
        ({"points": GOOD.points - 1}, "sample 0: l2_order is -1; allowed: 0 to 5"),
        (
            {"points": GOOD.points + np.array([0, 1, 0])},
            "sample 1: l2_parallel is 3; allowed: 0 to 2",
        ),
        ({"points": np.empty((0, 3), int), "rewards": np.empty(0)}, "one number per sample"),
        ({"rewards": GOOD.rewards[:, np.newaxis]}, "one number per sample"),
        ({"rewards": np.array(["a"] * 4)}, "one number per sample"),
        ({"rewards": np.array([1, np.nan, 1, 1])}, "reward of sample 1 is nan; allowed: finite"),
        ({"rewards": np.array([1, 1, np.inf, 1])}, "reward of sample 2 is inf"),
        ({"rewards": np.array([1, 1, 1, -1e-9])}, "reward of sample 3 is -1e-09.*0 for invalid"),
    ],
)
def test_samples_that_contradict_themselves_are_refused(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(SamplesError, match=message):
        replace(GOOD, **changes)


def test_samples_keep_what_they_were_given() -> None:
    points, rewards = GOOD.points.copy(), GOOD.rewards.copy()
    samples = replace(GOOD, points=points, rewards=rewards)
    points[:], rewards[:] = 0, np.nan
    np.testing.assert_array_equal(samples.points, GOOD.points)
    np.testing.assert_array_equal(samples.rewards, GOOD.rewards)
    with pytest.raises(ValueError, match="read-only"):
        samples.points[0, 0] = 1


def test_samples_survive_pickling() -> None:
    copy = pickle.loads(pickle.dumps(GOOD))
    np.testing.assert_array_equal(copy.points, GOOD.points)
    assert copy.names == GOOD.names


def top(rewards: list[float], fraction: float) -> list[float]:
    samples = sizes_samples(np.zeros((len(rewards), 1), dtype=np.int64), np.array(rewards))
    return sorted(samples.top(fraction).rewards.tolist())


RANKS = [float(rank) for rank in range(1, 101)]


@pytest.mark.parametrize(
    ("rewards", "fraction", "best"),
    [
        (RANKS, 1, RANKS),
        # 0.07 * 100 is more than 7.
        (RANKS, 0.07, RANKS[93:]),
        ([5, 1, 9, 3, 7, 2, 8, 4, 6, 10], 0.3, [8, 9, 10]),
        ([5, 1, 9, 3, 7, 2, 8, 4, 6, 10], 0.31, [7, 8, 9, 10]),
        # Whoever shares the last place is in; what is invalid never is.
        ([1, 2, 3, 3, 3, 4], 0.3, [3, 3, 3, 4]),
        ([0, 0, 1, 2, 0, 3, 0, 0], 0.9, [1, 2, 3]),
    ],
)
def test_the_top_are_the_best_by_reward(
    rewards: list[float], fraction: float, best: list[float]
) -> None:
    assert top(rewards, fraction) == best


@pytest.mark.parametrize("fraction", [0, -0.1, 1.01, float("nan")])
def test_impossible_fractions_are_refused(fraction: float) -> None:
    with pytest.raises(SamplesError, match=r"top fraction is .*; allowed: above 0, at most 1"):
        GOOD.top(fraction)


def test_an_empty_top_says_how_many_samples_are_valid() -> None:
    rng = np.random.default_rng(0)
    samples = sizes_samples(rng.integers(0, 5, (100, 3)), np.zeros(100))
    message = "top 0.15 of 100 samples, 0 of them valid, are 0; allowed: 3 or more"
    with pytest.raises(SamplesError, match=message):
        cluster(samples, 2)


def test_two_samples_are_too_few_to_correlate() -> None:
    with pytest.raises(SamplesError, match=r"top 0.15 of 10 samples, 10 of them valid, are 2"):
        top([float(reward) for reward in range(1, 11)], 0.15)
