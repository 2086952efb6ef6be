from __future__ import annotations

import numpy as np
import pytest

from experiments.stats import best_so_far, bootstrap_interval, iqm


def test_best_so_far_is_the_running_minimum() -> None:
    values = np.array([np.inf, 5.0, 7.0, 5.0, 2.0, np.inf])
    np.testing.assert_array_equal(best_so_far(values), [np.inf, 5.0, 5.0, 5.0, 2.0, 2.0])


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
    np.testing.assert_array_equal(iqm(values, axis=1), [5.5, 16.5])


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
