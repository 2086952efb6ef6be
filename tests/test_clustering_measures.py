from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from clustering_helpers import sizes_samples
from numpy.typing import NDArray
from scipy.stats import chi2_contingency, pearsonr

from maestro_env.clustering import (
    MEASURES,
    GroupingError,
    Samples,
    SamplesError,
    measure_dependence,
)
from maestro_env.clustering.dependence import (
    BINS,
    binned,
    corrected_v,
    cramers_v,
    innermost,
    interaction,
    interaction_share,
    pearson,
)


@pytest.mark.parametrize("loops", range(1, 7))
def test_the_innermost_loop_is_the_last_of_the_permutation(loops: int) -> None:
    orders = list(permutations(range(loops)))
    ranks = np.arange(math.factorial(loops))
    np.testing.assert_array_equal(innermost(ranks, loops), [order[-1] for order in orders])


def test_bins_of_every_kind() -> None:
    rng = np.random.default_rng(0)
    sizes = (720, 6, 10, BINS, 1000, 1)
    kinds = ("order", "order", "parallel", "tile", "cluster", "tile")
    points = rng.integers(0, sizes, (4000, 6))
    categories = binned(Samples(tuple("abcdef"), kinds, sizes, points, np.ones(4000)))
    np.testing.assert_array_equal(categories[:, 0], innermost(points[:, 0], 6))
    np.testing.assert_array_equal(categories[:, [1, 2, 3, 5]], points[:, [1, 2, 3, 5]])
    counts = np.bincount(categories[:, 4])
    assert len(counts) == BINS
    assert abs(counts - 500).max() < 10
    # In the order of the sizes.
    assert (np.diff(categories[np.argsort(points[:, 4]), 4]) >= 0).all()


def test_bins_leave_no_gap() -> None:
    points = np.array([[0], [9], [9], [9], [9], [9], [40], [41]])
    categories = binned(sizes_samples(points, size=99))[:, 0]
    np.testing.assert_array_equal(np.unique(categories), np.arange(categories.max() + 1))
    assert categories[1] < categories[6]


def test_bins_do_not_depend_on_how_often_samples_are_repeated() -> None:
    points = np.random.default_rng(0).integers(0, 500, (30, 3))
    once = binned(sizes_samples(points))
    np.testing.assert_array_equal(
        binned(sizes_samples(np.tile(points, (3, 1)))), np.tile(once, (3, 1))
    )


def test_pearson_is_scipys() -> None:
    rng = np.random.default_rng(1)
    points = rng.integers(0, 9, (50, 4))
    points[:, 1] = points[:, 0] // 2 + rng.integers(0, 3, 50)
    matrix = pearson(sizes_samples(points))
    for i in range(4):
        for j in range(4):
            expected = pearsonr(points[:, i], points[:, j]).statistic
            assert matrix[i, j] == pytest.approx(expected, abs=1e-12)
    assert (np.diag(matrix) == 1).all()


def test_pearson_by_hand() -> None:
    # Deviations (-1, 0, 1) and (-1, 1, 0): product 1, squares 2 and 2.
    matrix = pearson(sizes_samples(np.array([[0, 0, 2], [1, 2, 1], [2, 1, 0]])))
    np.testing.assert_allclose(matrix, [[1, 0.5, -1], [0.5, 1, -0.5], [-1, -0.5, 1]])


def test_cramers_v_is_the_corrected_chi_square() -> None:
    rng = np.random.default_rng(2)
    first, second = rng.integers(0, 4, 300), rng.integers(0, 6, 300)
    second[:100] = first[:100]
    table = np.zeros((4, 6))
    np.add.at(table, (first, second), 1)
    square = chi2_contingency(table, correction=False).statistic / 300
    least = 4 - 3**2 / 299 - 1
    expected = math.sqrt((square - 15 / 299) / least)
    assert corrected_v(first, second) == pytest.approx(expected)


def test_cramers_v_of_a_relabelling_is_1() -> None:
    labels = np.arange(600) % 5
    assert corrected_v(labels, np.array([3, 0, 4, 1, 2])[labels]) == pytest.approx(1)


def test_cramers_v_of_independent_parameters_is_nearly_0() -> None:
    rng = np.random.default_rng(3)
    sizes = (720, 720, 4, 64, 1024)
    kinds = ("order", "order", "parallel", "tile", "cluster")
    points = rng.integers(0, sizes, (3000, 5))
    matrix = cramers_v(Samples(tuple("abcde"), kinds, sizes, points, np.ones(3000)))
    assert matrix[~np.eye(5, dtype=bool)].max() < 0.05


def two_way_share(
    first: NDArray[np.int64], second: NDArray[np.int64], y: NDArray[np.float64]
) -> float:
    """Omega squared of the interaction, from two regressions on dummy variables."""

    def left(design: NDArray[np.float64]) -> tuple[float, int]:
        fitted, _, rank, _ = np.linalg.lstsq(design, y, rcond=None)
        return float(((y - design @ fitted) ** 2).sum()), int(rank)

    rows, columns = np.eye(first.max() + 1)[first], np.eye(second.max() + 1)[second]
    products = (rows[:, :, np.newaxis] * columns[:, np.newaxis]).reshape(len(y), -1)
    of_effects, effects = left(np.hstack([rows, columns]))
    of_cells, cells = left(products)
    noise = of_cells / (len(y) - cells)
    total = float(((y - y.mean()) ** 2).sum())
    return (of_effects - of_cells - (cells - effects) * noise) / (total + noise)


def test_interaction_is_that_of_regressions_even_with_empty_cells() -> None:
    rng = np.random.default_rng(4)
    first, second = rng.integers(0, 4, 400), rng.integers(0, 5, 400)
    second[first == 3] = np.minimum(second[first == 3], 2)
    y = first + 0.5 * second + (first == 1) * (second == 2) * 3 + rng.normal(size=400)
    y -= y.mean()
    share = two_way_share(first, second, y)
    assert share > 0.05
    assert interaction_share(first, second, y) == pytest.approx(share)


def test_interaction_by_hand() -> None:
    # An exclusive or and nothing else: all of the variance, less noise of none.
    first, second = np.tile([0, 0, 1, 1], 10), np.tile([0, 1, 0, 1], 10)
    assert interaction_share(first, second, np.where(first == second, 1.0, -1.0)) == 1


def test_a_sample_for_every_cell_leaves_no_noise_to_compare_with() -> None:
    first, second = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    assert interaction_share(first, second, np.array([1.0, -1, -1, 1])) == 0


RNG = np.random.default_rng(5)
UNIFORM = RNG.integers(0, 10, (20_000, 4))
A, B, C, D = UNIFORM.T


def off_diagonal(measure: str, log_reward: NDArray[np.float64]) -> NDArray[np.float64]:
    """Dependence of a and b, then the largest of all other pairs, of four uniform parameters."""
    noisy = log_reward + np.random.default_rng(6).normal(size=len(log_reward)) * 0.3
    matrix = measure_dependence(sizes_samples(UNIFORM, np.exp(noisy)), measure).matrix
    others = np.abs(matrix[np.triu_indices(4, 1)])
    return np.array([others[0], others[1:].max()])


@pytest.mark.parametrize(
    ("measure", "sees"), [("pearson", False), ("cramers_v", True), ("interaction", True)]
)
def test_an_exclusive_or_of_sizes_has_no_correlation(measure: str, sees: bool) -> None:
    # Good where both are small or large, or both middling: no line goes through that.
    middling = [(x >= 3) & (x < 7) for x in (A, B)]
    pair, others = off_diagonal(measure, 4.0 * (middling[0] == middling[1]) + 0.2 * C)
    assert (pair > 0.3) if sees else (pair < 0.05)
    assert others < 0.2


@pytest.mark.parametrize(
    ("measure", "sees"), [("pearson", False), ("cramers_v", False), ("interaction", True)]
)
def test_the_best_alone_do_not_show_an_interaction_they_all_share(measure: str, sees: bool) -> None:
    # All the top lies in one cell, 16 % of the space, within which a and b are as free as before.
    pair, others = off_diagonal(measure, 10.0 * ((A >= 6) & (B >= 6)))
    assert (pair > 0.5) if sees else (pair < 0.06)
    assert others < 0.06


@pytest.mark.parametrize(
    ("measure", "fooled"), [("pearson", True), ("cramers_v", True), ("interaction", False)]
)
def test_the_best_alone_show_an_interaction_there_is_not(measure: str, fooled: bool) -> None:
    # Effects just add up; selecting their sum makes the one small where the other is large.
    pair, _ = off_diagonal(measure, 1.0 * A + 1.0 * B)
    assert (pair > 0.2) if fooled else (pair < 0.05)


@pytest.mark.parametrize("measure", MEASURES)
def test_a_planted_pair_is_seen_by_every_measure(measure: str) -> None:
    pair, others = off_diagonal(measure, -1.0 * (A - B) ** 2)
    assert pair > 0.3
    assert others < 0.1


@pytest.mark.parametrize("measure", MEASURES)
def test_a_parameter_without_variance_depends_on_nothing(measure: str) -> None:
    points = UNIFORM.copy()
    points[:, 2] = 7
    found = measure_dependence(sizes_samples(points, 1.0 + A * B), measure)
    np.testing.assert_array_equal(found.varying, [True, True, False, True])
    np.testing.assert_array_equal(found.matrix[2], [0, 0, 1, 0])
    np.testing.assert_array_equal(found.matrix, found.matrix.T)
    assert (np.diag(found.matrix) == 1).all()


@pytest.mark.parametrize("measure", MEASURES)
def test_samples_without_variance_are_refused(measure: str) -> None:
    points = np.full((100, 3), 4)
    rewards = np.arange(1.0, 101.0)
    with pytest.raises(SamplesError, match=r"no parameter varies among the .* samples used"):
        measure_dependence(sizes_samples(points, rewards), measure)


@pytest.mark.parametrize("measure", MEASURES)
def test_samples_of_the_same_reward_are_refused(measure: str) -> None:
    told = f"all {len(UNIFORM)} rewards are 0.25: there are no best samples"
    with pytest.raises(SamplesError, match=told):
        measure_dependence(sizes_samples(UNIFORM, np.full(len(UNIFORM), 0.25)), measure)


def test_interaction_needs_rewards_that_differ() -> None:
    for rewards in (np.ones(len(UNIFORM)), np.arange(len(UNIFORM)) % 2.0):
        with pytest.raises(SamplesError, match="all valid rewards are equal"):
            interaction(sizes_samples(UNIFORM, rewards))
    with pytest.raises(SamplesError, match="no sample is valid"):
        interaction(sizes_samples(UNIFORM, np.zeros(len(UNIFORM))))


def test_an_invalid_sample_counts_as_the_worst_valid_one() -> None:
    # Only where a and b are both large it is invalid: that is an interaction as well.
    rewards = np.where((A >= 6) & (B >= 6), 0.0, 1.0 + (C > 4))
    matrix = interaction(sizes_samples(UNIFORM, rewards))
    lifted = interaction(sizes_samples(UNIFORM, np.where(rewards > 0, rewards, 1.0)))
    np.testing.assert_array_equal(matrix, lifted)
    worst = interaction(sizes_samples(UNIFORM, np.where(rewards > 0, rewards, 0.01)))
    assert worst[0, 1] > 0.3


def test_unknown_measures_are_refused() -> None:
    with pytest.raises(GroupingError, match=r"unknown measure 'pearsn': did you mean pearson\?"):
        measure_dependence(sizes_samples(UNIFORM), "pearsn")
