from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from paper_helpers import made_up

from experiments.paper.item import Run
from experiments.paper.reach import (
    Factor,
    Reach,
    converged,
    converged_return,
    factor,
    mean_factor,
    samples_to_cost,
    samples_to_return,
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
    reach = Reach.of(samples, 100)
    assert reach == Reach(median, arrived, len(samples), 100)
    assert str(reach) == text


def test_a_warm_up_is_spent_before_every_search() -> None:
    assert str(Reach.of([10, 20, 30], 100).after(1000)) == "1,020 (3/3)"
    assert str(Reach.of([math.inf], 100).after(1000)) == ">1,100 (0/1)"


def test_factors_of_medians_beyond_the_budget_are_bounds() -> None:
    slow, fast = Reach.of([60], 100), Reach.of([20], 80)
    assert factor(slow, fast) == Factor(3.0, "")
    assert str(factor(Reach.of([math.inf], 100), fast)) == ">5x"
    assert str(factor(slow, Reach.of([math.inf], 80))) == "<0.75x"
    assert str(factor(Reach.of([math.inf], 100), Reach.of([math.inf], 80))) == "?"


def test_mean_factor_is_geometric_and_keeps_the_bounds() -> None:
    assert mean_factor([Factor(2.0, ""), Factor(8.0, "")]) == Factor(pytest.approx(4.0), "")
    assert mean_factor([Factor(2.0, ">"), Factor(8.0, "")]).bound == ">"
    assert mean_factor([Factor(2.0, ">"), Factor(8.0, "<")]).bound == "?"
    assert mean_factor([Factor(2.0, "?"), Factor(8.0, "<")]).bound == "?"


def test_samples_to_a_cost_are_those_of_the_first_improvement_that_reaches_it() -> None:
    searches = [
        made_up(RUN, [(1, 9.0), (40, 5.0), (70, 3.0)]),
        made_up(RUN, [(10, 5.0)]),
        made_up(RUN, [(2, 6.0)]),
    ]
    assert samples_to_cost(searches, 5.0) == Reach(40, 2, 3, 100)
    assert samples_to_cost(searches, 1.0) == Reach(math.inf, 0, 3, 100)


def test_samples_to_a_return_end_with_the_first_window_that_has_it() -> None:
    search = made_up(RUN, [(1, 1.0)], returns=[0.1, 0.5, 0.2, 0.6, 0.7])
    assert samples_to_return([search], 0.5) == Reach(40, 1, 1, 100)
    assert samples_to_return([search], 0.55) == Reach(80, 1, 1, 100)
    assert samples_to_return([search], 0.8) == Reach(math.inf, 0, 1, 100)


def test_what_a_search_converged_to_is_the_mean_of_the_last_tenth() -> None:
    assert converged(np.arange(100.0)) == np.mean(np.arange(90, 100))
    assert converged(np.array([1.0, 7.0])) == 7
    returns = [[0.0] * 18 + [last, 1.0] for last in (3.0, 1.0, 9.0)]
    searches = [made_up(RUN, [(1, 1.0)], each) for each in returns]
    assert converged_return(searches) == 2


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=9), st.integers(1, 1000))
def test_a_smaller_budget_never_makes_a_search_look_faster(samples: list[int], cut: int) -> None:
    whole = Reach.of(samples, 1000)
    cut_off = Reach.of([each if each <= cut else math.inf for each in samples], cut)
    assert cut_off.censored or cut_off.median == whole.median
    assert cut_off.least <= whole.least
