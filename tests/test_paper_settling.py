from __future__ import annotations

import math

import numpy as np
import pytest

from experiments.paper.settling import decided, settled, uniform_spread
from experiments.windows import Windows


def one_parameter(choices: list[float], spreads: list[float]) -> Windows:
    windows = len(choices)
    ends = np.arange(1, windows + 1) * 10
    return Windows(ends, np.zeros(windows), np.c_[choices], np.c_[spreads])


def settles(choices: list[float], spreads: list[float], number: int = 100) -> float:
    return float(settled(one_parameter(choices, spreads), (number,))[0])


@pytest.mark.parametrize("choices", [2, 4, 720])
def test_uniform_spread_is_the_deviation_of_evenly_spaced_numbers(choices: int) -> None:
    assert uniform_spread(choices) == pytest.approx(np.linspace(0, 1, choices).std())
    assert uniform_spread(1) == 0


def test_a_parameter_settles_with_the_first_window_from_which_on_it_stays() -> None:
    still = [0.1] * 6
    assert settles([0.5, 0.9, 0.7, 0.3, 0.3, 0.3], still) == 40
    assert settles([0.3] * 6, still) == 10
    # Its mean stands still, but it narrows down.
    assert settles([0.3] * 6, [0.28, 0.25, 0.1, 0.1, 0.1, 0.1]) == 30
    # It comes by where it ends, and leaves again.
    assert settles([0.5, 0.3, 0.9, 0.9, 0.3, 0.3], still) == 50
    # A little moving about is none.
    assert settles([0.5, 0.39, 0.21, 0.38, 0.3, 0.3], still) == 20


def test_single_windows_may_be_off_by_chance() -> None:
    once = [0.9, *[0.3] * 5, 0.9, *[0.3] * 13]
    # Of the 19 windows from the second one on, one is off.
    assert settles(once, [0.1] * 20) == 20
    # Two of 19 are more than a tenth; of the 13 behind the first of them, one is less.
    twice = [0.9, *[0.3] * 5, 0.9, *[0.3] * 5, 0.9, *[0.3] * 7]
    assert settles(twice, [0.1] * 20) == 80


def test_a_parameter_that_moves_to_the_end_settles_near_it() -> None:
    # The last four of forty windows have the mean 37.5 / 39; 34 / 39 is within 0.1 of it.
    drifting = np.linspace(0, 1, 40).tolist()
    assert settles(drifting, [0.05] * 40) == 350
    jumping = [0.0, 1.0] * 20
    assert settles(jumping, [0.05] * 40) == math.inf


def test_a_parameter_that_stays_as_wide_as_uniform_draws_never_settles() -> None:
    uniform = uniform_spread(100)
    assert settles([0.5] * 6, [uniform] * 6) == math.inf
    assert settles([0.5] * 6, [0.7 * uniform] * 6) == 10
    assert settles([0.0] * 6, [0.0] * 6, number=1) == math.inf


def test_every_parameter_is_judged_alone() -> None:
    ends = np.array([5, 10])
    windows = Windows(
        ends,
        np.zeros(2),
        np.array([[0.0, 0.5, 0.5], [0.4, 0.5, 0.5]]),
        np.array([[0.0, 0.0, 0.5], [0.0, 0.0, 0.5]]),
    )
    assert settled(windows, (9, 9, 2)).tolist() == [10, 5, math.inf]
    assert decided(windows, (9, 9, 2)).tolist() == [True, True, False]
