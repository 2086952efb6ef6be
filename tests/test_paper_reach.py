from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from paper_helpers import made_up

from experiments.paper.item import Run
from experiments.paper.reach import (
    Reach,
    converged,
    converged_return,
    factor,
    mean_factor,
    samples_to_cost,
    samples_to_return,
    widened,
    windows_of,
)

RUN = Run("vgg16_l2", "latency", "marl", 0, 100)


@pytest.mark.parametrize(
    ("samples", "median", "arrived", "text"),
    [
        ([30, 10, 20], 20, 3, "20 (3/3)"),
        # Of two in the middle the greater one.
        ([10, 20], 20, 2, "20 (2/2)"),
        ([30, math.inf, 20], 30, 2, "30 (2/3)"),
        ([10, math.inf], math.inf, 1, ">100 (1/2)"),
        ([math.inf, math.inf, 5], math.inf, 1, ">100 (1/3)"),
        ([math.inf, math.inf], math.inf, 0, ">100 (0/2)"),
    ],
)
def test_median_of_samples_counts_those_that_never_arrive(
    samples: list[float], median: float, arrived: int, text: str
) -> None:
    reach = Reach(tuple(samples), 100)
    assert (reach.median, reach.arrived) == (median, arrived)
    assert str(reach) == text
    row = dict(zip(Reach.header("slow_"), map(str, reach.row()), strict=True))
    assert Reach.of(row, "slow_") == reach


@pytest.mark.parametrize(
    ("samples", "window", "text"),
    [(20, 20, "<=20 (1/1)"), (40, 20, "40 (1/1)"), (1, 1, "1 (1/1)")],
)
def test_what_arrives_in_the_first_window_needed_at_most_that(
    samples: float, window: int, text: str
) -> None:
    assert str(Reach((samples,), 100, window)) == text


def test_an_interval_that_excludes_nothing_is_none() -> None:
    slow, fast = Reach((60, 80, 90), 100), Reach((10, 20, 30), 100)
    assert factor(slow, fast).told == "4x [2, 9]"
    assert factor(Reach((60,), 100), fast).told == "3x (no interval)"


def test_a_warm_up_is_spent_before_every_search() -> None:
    assert str(Reach((10, 20, 30), 100).after(1000)) == "1,020 (3/3)"
    assert str(Reach((math.inf,), 100).after(1000)) == ">1,100 (0/1)"


def test_factors_of_medians_beyond_the_budget_are_bounds() -> None:
    slow, fast = Reach((60,), 100), Reach((20,), 80)
    assert (factor(slow, fast).value, factor(slow, fast).bound) == (pytest.approx(3.0), "")
    assert str(factor(Reach((math.inf,), 100), fast)) == ">5x"
    assert str(factor(slow, Reach((math.inf,), 80))) == "<0.75x"
    assert str(factor(Reach((math.inf,), 100), Reach((math.inf,), 80))) == "?"


def test_the_interval_of_a_factor_is_that_of_resampled_medians() -> None:
    # The median of three of three is the least one in 7 of 27 cases, and the greatest likewise.
    found = factor(Reach((60, 80, 90), 100), Reach((10, 20, 30), 100))
    assert (found.value, found.low, found.high) == pytest.approx((4.0, 2.0, 9.0))
    # What arrives at the end of a window of ten may do so after its first sample.
    found = factor(Reach((60, 80, 90), 100, 10), Reach((10, 20, 30), 100, 10))
    assert (found.low, found.high) == pytest.approx((51 / 30, 90 / 1))


def test_a_search_that_never_arrives_opens_the_interval_on_its_side() -> None:
    never = (math.inf,) * 3
    slow = factor(Reach(never, 100), Reach((10, 20, 20), 100))
    assert (slow.low, slow.high) == (pytest.approx(5.0), math.inf)
    fast = factor(Reach((60, 60, 60), 100), Reach(never, 80))
    assert (fast.low, fast.high) == pytest.approx((0.0, 0.75))
    both = factor(Reach(never, 100), Reach(never, 100))
    assert (both.low, both.high) == (0.0, math.inf)


def test_one_search_tells_no_spread() -> None:
    found = factor(Reach((60,), 100), Reach((10, 20, 30), 100))
    assert (found.low, found.high) == (0.0, math.inf)


def test_mean_factor_is_geometric_and_keeps_the_bounds() -> None:
    two, eight = (
        (Reach((20,) * 3, 100), Reach((10,) * 3, 100)),
        (
            Reach((80,) * 3, 100),
            Reach((10,) * 3, 100),
        ),
    )
    mean = mean_factor([two, eight])
    assert (mean.value, mean.low, mean.high) == pytest.approx((4.0, 4.0, 4.0))
    never = Reach((math.inf,) * 3, 100)
    more, less = (never, two[1]), (two[0], never)
    assert mean_factor([more, eight]).bound == ">"
    assert mean_factor([more, less]).bound == "?"
    assert mean_factor([(never, never), less]).bound == "?"


def test_samples_to_a_cost_are_those_of_the_first_improvement_that_reaches_it() -> None:
    searches = [
        made_up(RUN, [(1, 9.0), (40, 5.0), (70, 3.0)]),
        made_up(RUN, [(10, 5.0)]),
        made_up(RUN, [(2, 6.0)]),
    ]
    assert samples_to_cost(searches, 5.0) == Reach((40, 10, math.inf), 100)
    assert samples_to_cost(searches, 1.0) == Reach((math.inf,) * 3, 100)


def test_samples_to_a_return_end_with_the_first_window_that_has_it() -> None:
    search = made_up(RUN, [(1, 1.0)], returns=[0.1, 0.5, 0.2, 0.6, 0.7])
    assert samples_to_return([search], 0.5) == Reach((40,), 100, 20)
    assert samples_to_return([search], 0.55) == Reach((80,), 100, 20)
    assert samples_to_return([search], 0.8) == Reach((math.inf,), 100, 20)


def test_returns_are_compared_in_windows_of_equal_width() -> None:
    search = made_up(RUN, [(1, 1.0)], returns=[0.1, 0.9, 0.2, 0.4, 0.7])
    # Windows of 20; two together have means of 0.5 and 0.3, and the last one is alone.
    assert samples_to_return([search], 0.6) == Reach((40,), 100, 20)
    assert samples_to_return([search], 0.6, width=40) == Reach((100,), 100, 40)
    assert samples_to_return([search], 0.5, width=40) == Reach((40,), 100, 40)
    ends, returns = widened(windows_of(search), 40)
    assert ends.tolist() == [40, 80, 100]
    np.testing.assert_allclose(returns, [0.5, 0.3, 0.7])


def test_what_a_search_converged_to_is_the_mean_of_the_last_tenth() -> None:
    assert converged(np.arange(100.0)) == np.mean(np.arange(90, 100))
    assert converged(np.array([1.0, 7.0])) == 7
    returns = [[0.0] * 18 + [last, 1.0] for last in (3.0, 1.0, 9.0)]
    searches = [made_up(RUN, [(1, 1.0)], each) for each in returns]
    assert converged_return(searches) == 2


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=9), st.integers(1, 1000))
def test_a_smaller_budget_never_makes_a_search_look_faster(samples: list[int], cut: int) -> None:
    whole = Reach(tuple(samples), 1000)
    cut_off = Reach(tuple(each if each <= cut else math.inf for each in samples), cut)
    assert cut_off.censored or cut_off.median == whole.median
    assert cut_off.least <= whole.least
