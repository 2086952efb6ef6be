from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from maestro_env.experiments.shown.statistics import (
    bootstrap_interval,
    geometric_mean,
    iqm,
    performance_profile,
    probability_of_improvement,
    stratified_interval,
)


def test_iqm_is_the_mean_of_the_middle_half() -> None:
    assert iqm(np.array([100.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, -100.0])) == (2 + 3 + 4 + 5) / 4


def test_iqm_of_few_values_is_their_mean() -> None:
    assert iqm(np.array([1.0, 2.0, 9.0])) == 4.0
    assert iqm(np.array([7.0])) == 7.0


def test_iqm_cuts_off_a_quarter_without_result_but_not_more() -> None:
    assert iqm(np.array([1.0, 2.0, 4.0, np.inf])) == 3.0
    assert iqm(np.array([1.0, 2.0, np.inf, np.inf])) == np.inf


def test_iqm_goes_over_the_seeds_axis() -> None:
    values = np.array([[1.0, 10.0], [3.0, 30.0]])
    np.testing.assert_array_equal(iqm(values), [2.0, 20.0])
    np.testing.assert_array_equal(iqm(values.T), [5.5, 16.5])


@pytest.mark.parametrize(
    ("confidence", "low", "high"),
    [(0.95, 0.0, 1.0), (0.4, 0.5, 0.5)],
)
def test_interval_of_two_seeds(confidence: float, low: float, high: float) -> None:
    # Resampled means of {0, 1} are 0, 1/2 and 1 with chances 1/4, 1/2 and 1/4.
    interval = bootstrap_interval(np.array([[0.0], [1.0]]), confidence)
    np.testing.assert_allclose(interval, [[low], [high]])


def test_interval_of_three_seeds() -> None:
    # All three draws hit the 1 with chance 1/27 = 3.7 %, which is above 2.5 % but below 5 %.
    values = np.array([[0.0], [0.0], [1.0]])
    np.testing.assert_allclose(bootstrap_interval(values), [[0.0], [1.0]])
    np.testing.assert_allclose(bootstrap_interval(values, 0.9), [[0.0], [2 / 3]])


def test_interval_of_equal_seeds_has_no_width() -> None:
    interval = bootstrap_interval(np.full((5, 3), 4.0))
    np.testing.assert_array_equal(interval, np.full((2, 3), 4.0))


def test_interval_treats_columns_alone_and_repeats_itself() -> None:
    values = np.random.default_rng(1).random((6, 4))
    together = np.array(bootstrap_interval(values))
    np.testing.assert_array_equal(together, bootstrap_interval(values))
    np.testing.assert_array_equal(together[:, [2]], bootstrap_interval(values[:, [2]]))
    assert np.all(together[0] < iqm(values))
    assert np.all(iqm(values) < together[1])


def test_interval_with_an_infinite_end() -> None:
    # A seed without result is drawn twice or more, out of eight, with chance 26 %.
    values = np.array([[1.0]] * 7 + [[np.inf]])
    low, high = bootstrap_interval(values)
    assert (low[0], high[0]) == (1.0, np.inf)


# --- Several tasks: the formulas of rliable ------------------------------------------------------

TASKS = [np.random.default_rng(seed).lognormal(size=(size, 3)) for seed, size in ((1, 6), (2, 9))]


def test_strata_are_resampled_independently() -> None:
    # The mean of two tasks {0, 1} is 0, 1/4, ... with chances 1/16, 4/16, 6/16, 4/16, 1/16; drawn
    # together they would be 0 with chance 1/4.
    strata = [np.array([0.0, 1.0])] * 2

    def mean(drawn: list[np.ndarray]) -> np.ndarray:
        return (drawn[0].mean(axis=0) + drawn[1].mean(axis=0)) / 2

    assert stratified_interval(strata, mean) == (0.0, 1.0)
    assert stratified_interval(strata, mean, 0.8) == (0.25, 0.75)
    assert stratified_interval(strata, mean, 0.2) == (0.5, 0.5)


def test_stratified_interval_is_that_of_a_plain_bootstrap() -> None:
    rng = np.random.default_rng(7)
    figures = []
    for _ in range(300):
        drawn = [task[rng.integers(len(task), size=len(task))] for task in TASKS]
        figures.append(np.exp(np.mean([np.log(iqm(task)) for task in drawn], axis=0)))
    plain = np.quantile(figures, [0.025, 0.975], axis=0)
    interval = stratified_interval(TASKS, geometric_mean)
    np.testing.assert_allclose(interval, plain, rtol=0.08)
    np.testing.assert_array_equal(interval, stratified_interval(TASKS, geometric_mean))


def test_geometric_mean_over_tasks() -> None:
    tasks = [np.array([[1.0], [3.0], [8.0]]), np.array([[9.0]])]
    np.testing.assert_allclose(geometric_mean(tasks), [6.0])
    assert geometric_mean([*tasks, np.array([[np.inf]])]) == np.inf


def test_probability_of_improvement_is_the_mann_whitney_statistic() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.integers(8, size=(7, 5)).astype(float), rng.integers(8, size=(11, 5)).astype(float)
    # rliable divides the statistic of "x is greater" by the number of pairs; here less is better.
    expected = mannwhitneyu(y, x, axis=0).statistic / (7 * 11)
    np.testing.assert_allclose(probability_of_improvement(x, y), expected)
    np.testing.assert_allclose(
        probability_of_improvement(x, y) + probability_of_improvement(y, x), np.ones(5)
    )


def test_searches_without_result_are_equal_to_each_other_and_worse_than_others() -> None:
    x, y = np.array([1.0, np.inf]), np.array([2.0, np.inf])
    assert probability_of_improvement(x, y) == (1 + 1 + 0 + 0.5) / 4


def test_performance_profile_is_a_mean_over_tasks_of_shares() -> None:
    tasks = [np.array([1.0, 1.5, 4.0, np.inf]), np.array([2.0])]
    profile = performance_profile(tasks, np.array([0.9, 1.0, 2.0, 9.0]))
    np.testing.assert_array_equal(profile, [0.0, 0.125, 0.75, 0.875])
    limits = np.array([0.5, 1.0, 2.0])
    drawn = performance_profile(TASKS, limits)
    assert drawn.shape == (3, 3)
    expected = [np.mean([(task[:, 2] <= limit).mean() for task in TASKS]) for limit in limits]
    np.testing.assert_allclose(drawn[2], expected)
