"""Samples, factors, ratios and settling against what they are by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from paper_helpers import MARL, SHORT, Found, arena, ends, made_up

from maestro_env.experiments.papers.paper.items import log_spaced
from maestro_env.experiments.papers.paper.items.fig7 import settled
from maestro_env.experiments.papers.paper.items.overhead import mean_interval, total
from maestro_env.experiments.papers.paper.items.table3 import leads, times_fewer
from maestro_env.experiments.papers.paper.ledger import WARMED, make_arenas
from maestro_env.experiments.papers.paper.ratios import Ratio, cost_ratios, ratio_lines
from maestro_env.experiments.papers.paper.reach import (
    REACH_COLUMNS,
    Factor,
    Reach,
    at_least,
    converged,
    converged_return,
    everywhere,
    mean_factor,
    mostly,
    samples_to_return,
    tally,
    widened,
)
from maestro_env.experiments.search.cells import Windows

NEVER = (math.inf,) * 3

# --- Samples to a target ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("samples", "window", "median", "text"),
    [
        ([30, 10, 20], 1, 20, "20 (3/3)"),
        # Of two in the middle the greater one.
        ([10, 20], 1, 20, "20 (2/2)"),
        ([30, math.inf, 20], 1, 30, "30 (2/3)"),
        ([10, math.inf], 1, math.inf, ">100 (1/2)"),
        ([20], 20, 20, "<=20 (1/1)"),
        ([40], 20, 40, "40 (1/1)"),
    ],
)
def test_median_of_samples_counts_those_that_never_arrive(
    samples: list[float], window: int, median: float, text: str
) -> None:
    reach = Reach(tuple(samples), 100, window)
    assert (reach.median, str(reach)) == (median, text)
    texts = zip(REACH_COLUMNS, map(str, reach.row()), strict=True)
    row = {f"slow_{name}": text for name, text in texts}
    assert Reach.of(row, "slow_") == reach
    assert reach.after(1000).budget == 1100
    assert reach.after(1000).median == median + 1000


def factor(slow: Reach, fast: Reach, own: bool = False) -> Factor:
    return mean_factor([(slow, fast)], own)


def test_factors_of_medians_beyond_the_budget_are_bounds() -> None:
    slow, fast, never = Reach((60,), 100), Reach((20,), 80), Reach((math.inf,), 80)
    late = replace(never, budget=100)
    assert str(factor(slow, fast)) == "3x"
    assert str(factor(late, fast)) == ">5x"
    assert str(factor(slow, never)) == "<0.75x"
    assert str(factor(late, never)) == "?"
    # One search tells no spread.
    assert factor(slow, fast).told == "3x (no interval)"


def test_the_interval_of_a_factor_is_that_of_resampled_medians() -> None:
    # The median of three of three is the least one in 7 of 27 cases, and the greatest likewise.
    slow, fast = Reach((60, 80, 90), 100), Reach((10, 20, 30), 100)
    assert factor(slow, fast).told == "4x [2, 9]"
    # What arrives at the end of a window of ten may do so after its first sample.
    found = factor(replace(slow, window=10), replace(fast, window=10))
    assert (found.low, found.high) == pytest.approx((51 / 30, 90 / 1))


def test_a_search_that_never_arrives_opens_the_interval_on_its_side() -> None:
    slow = factor(Reach(NEVER, 100), Reach((10, 20, 20), 100))
    assert (slow.low, slow.high) == (pytest.approx(5.0), math.inf)
    fast = factor(Reach((60, 60, 60), 100), Reach(NEVER, 80))
    assert (fast.low, fast.high) == pytest.approx((0.0, 0.75))
    both = factor(Reach(NEVER, 100), Reach(NEVER, 100))
    assert (both.low, both.high) == (0.0, math.inf)


def test_the_median_search_reaches_its_own_target_within_its_budget() -> None:
    # Resamples of the slow searches have an infinite median in 7 of 27 cases.
    slow, fast = Reach((60, 80, math.inf), 100), Reach(NEVER, 20)
    assert factor(slow, fast).high == math.inf
    assert factor(slow, fast, own=True).high == pytest.approx(100 / 20)


def test_mean_factor_is_geometric_and_keeps_the_bounds() -> None:
    two = Reach((20,) * 3, 100), Reach((10,) * 3, 100)
    eight = Reach((80,) * 3, 100), two[1]
    mean = mean_factor([two, eight])
    assert (mean.value, mean.low, mean.high) == pytest.approx((4.0, 4.0, 4.0))
    never = Reach(NEVER, 100)
    assert mean_factor([(never, two[1]), eight]).bound == ">"
    assert mean_factor([(never, two[1]), (two[0], never)]).bound == "?"


def test_returns_are_compared_in_windows_of_equal_width() -> None:
    search = made_up(MARL, {1: 1.0}, returns=[0.1, 0.9, 0.2, 0.4, 0.7]).windows
    assert search is not None
    # Windows of 20; two together have means of 0.5 and 0.3, and the last one is alone.
    assert samples_to_return([search], 0.6) == Reach((40,), 100, 20)
    assert samples_to_return([search], 0.6, width=40) == Reach((100,), 100, 40)
    assert samples_to_return([search], 0.95) == Reach((math.inf,), 100, 20)
    merged, returns = widened(search, 40)
    assert merged.tolist() == [40, 80, 100]
    np.testing.assert_allclose(returns, [0.5, 0.3, 0.7])


def test_what_a_search_converged_to_is_the_mean_of_the_last_tenth() -> None:
    assert converged(np.arange(100.0)) == np.mean(np.arange(90, 100))
    assert converged(np.array([1.0, 7.0])) == 7
    returns = [[0.0] * 18 + [last, 1.0] for last in (3.0, 1.0, 9.0)]
    made = [made_up(MARL, {1: 1.0}, each).windows for each in returns]
    assert converged_return([each for each in made if each]) == 2


# --- Verdicts -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "holds"),
    [(30, 99, True), (10, 29.9, False), (29, 31, None), (0, math.inf, None), (math.nan, 99, None)],
)
def test_intervals_decide_claims(low: float, high: float, holds: bool | None) -> None:
    assert at_least(low, high, 30) is holds


def test_verdicts_are_summed_up() -> None:
    assert everywhere([True, None, False]) is False
    assert everywhere([True, None]) is everywhere([]) is None
    assert everywhere([True, True]) is True
    cases = [
        [*[True] * yes, *[False] * no, *[None] * (4 - yes - no)]
        for yes, no in ((3, 1), (2, 2), (2, 1), (1, 2), (1, 1))
    ]
    assert list(map(mostly, cases)) == [True, False, None, False, None]
    assert mostly([]) is None
    assert tally(cases[2]) == (2, 1, 1)


# --- Ratios -------------------------------------------------------------------------------------


def test_a_cost_ratio_is_the_geometric_mean_of_ratios_of_interquartile_means() -> None:
    arenas = [
        # The least and the greatest of four are cut off: 30 / 15 = 2.
        arena({"ga": ends(1, 20, 40, 999), "marl": ends(1, 10, 20, 999)}),
        # Means of three: 24 / 3 = 8.
        arena({"ga": ends(16, 24, 32), "marl": ends(2, 3, 4)}),
        # Without one of both there is no ratio.
        arena({"ga": ends(1, 2)}),
    ]
    found = cost_ratios(arenas, "ga", "marl", [1, SHORT])
    assert [(each.problems, each.samples) for each in found] == [(2, 1), (2, SHORT)]
    assert [each.ratio for each in found] == pytest.approx([4, 4])


def test_where_one_has_nothing_valid_there_is_no_ratio_but_a_count() -> None:
    arenas = [
        arena({"ga": ends(6, 6), "marl": ends(2, 2)}),
        arena({"ga": [{}, {}], "marl": ends(2, 2)}),
        arena({"ga": ends(5, 5), "marl": [{9: 5.0}, {9: 5.0}]}),
        arena({"ga": [{}, {}], "marl": [{}, {}]}),
    ]
    found = cost_ratios(arenas, "ga", "marl", [1, 9])
    assert [each.ratio for each in found] == pytest.approx([3, math.sqrt(3)])
    assert [(each.without, each.alone) for each in found] == [(1, 1), (1, 0)]
    assert math.isnan(cost_ratios(arenas[1:2], "ga", "marl", [1])[0].ratio)


def test_the_interval_of_a_ratio_is_that_of_its_resamples() -> None:
    # Pairs of {2, 4} over pairs of {1, 2}: from 2 / 2 to 4 / 1, both more often than 2.5 %.
    (wide,) = cost_ratios([arena({"ga": ends(2, 4), "marl": ends(1, 2)})], "ga", "marl", [1])
    assert (wide.low, wide.high) == pytest.approx((1, 4))
    # A resample may lose what the seeds have found.
    lost = [arena({"ga": [*ends(*[3] * 8), {}, {}], "marl": ends(*[1] * 10)})]
    assert cost_ratios(lost, "ga", "marl", [1])[0].high == math.inf


def test_ratio_lines_leave_out_what_cannot_be_told() -> None:
    arenas = [arena({"marl": [{10: 8.0, 50: 4.0}], "ga": [{20: 6.0}]})]
    compared = [((), arenas, "marl", each) for each in ("ga", "bo")]
    header, *lines = (list(map(str, line)) for line in ratio_lines((), compared, (5, 10, 20, 50)))
    rows = [Ratio.of(dict(zip(header, line, strict=True))) for line in lines]
    # After 5 samples neither has found anything, after 10 only the first has.
    assert [str(row) for row in rows] == ["alone in 1", "1.333", "0.6667"]
    assert (rows[0].better, rows[0].worse) == (True, False)


def test_intervals_decide_which_is_better() -> None:
    rows = [
        Ratio(1, 1, 0.9, low, high, 0, 0)
        for low, high in ((0.8, 0.95), (0.8, 1.0), (1.0, 1.2), (1.01, 1.2), (math.nan, math.nan))
    ]
    assert tally(each.better for each in rows) == (1, 1, 3)
    # Cells where only one has found something count as well.
    lost, alone = Ratio(2, 1, math.nan, math.nan, math.nan, 1, 0), Ratio(2, 1, 1, 1, 1, 0, 1)
    found = [each.better for each in (lost, replace(lost, without=0, alone=1), alone)]
    assert found == [False, True, None]
    assert replace(rows[0], without=1).better is replace(rows[3], alone=1).better is None
    assert str(Ratio(8, 20, 0.9, 0.8, 0.95, 2, 0)) == "0.9000 [0.8000, 0.9500], none in 2"


# --- Table III ----------------------------------------------------------------------------------


def test_searches_of_other_budgets_are_left_out_and_a_charged_warm_up_delays() -> None:
    long = replace(MARL, mapper="ga", samples=3 * SHORT)
    clustered = replace(MARL, mapper="marl_clustered")
    (found,) = make_arenas(
        {
            long: made_up(long, {200: 5.0}),
            clustered: made_up(clustered, {1: 9.0, 20: 7.0}, warm_up=30),
        },
        SHORT,
    )
    at = np.array([1, 30, 31, 50])
    assert not found.has("ga")
    assert found.bests(WARMED, at).tolist() == [[np.inf, np.inf, 9, 7]]
    assert found.bests("marl_clustered", at).tolist() == [[9, 7, 7, 7]]


def test_marl_leads_up_to_the_upper_end_of_the_interval_of_the_best() -> None:
    def judge(marl: list[Found], ga: list[Found]) -> bool:
        others = {"bo": ends(1e6, 1e6), "ga": ga}
        return leads(arena({"marl": marl, **others}), list(others), SHORT)

    # The mean of ga is 15; resamples reach 20 in a quarter of the cases.
    assert judge(ends(20, 20), ends(10, 20))
    assert not judge(ends(20.1, 20.1), ends(10, 20))
    assert not judge([{}, {}], [{}, {}])
    # A resample of these in which more than a quarter have nothing is likely: the mean counts.
    few: list[Found] = [*ends(*[10] * 6), {}, {}]
    assert judge(ends(9, 9), few)
    assert not judge(ends(11, 11), few)


def test_times_fewer_counts_to_the_median_of_the_ends() -> None:
    # Of two ends in the middle the greater one, 30: MARL is there after 4 and 10.
    ppo: list[Found] = [{90: 20.0}, {80: 30.0}]
    made = arena({"ppo": ppo, "marl": [{4: 30.0}, {2: 40.0, 10: 29.0}]})
    assert times_fewer(made, "marl", "ppo") == SHORT / 10
    assert times_fewer(arena({"ppo": ppo, "marl": [{4: 31.0}]}), "marl", "ppo") == 0
    assert math.isnan(times_fewer(arena({"ppo": [{}], "marl": [{4: 2.0}]}), "marl", "ppo"))


# --- Fig. 7 -------------------------------------------------------------------------------------


def settles(choices: list[float], spreads: list[float], number: int = 100) -> float:
    windows = len(choices)
    evaluations = np.arange(1, windows + 1) * 10
    made = Windows(evaluations, np.zeros(windows), np.c_[choices], np.c_[spreads])
    return float(settled(made, (number,))[0])


def test_a_parameter_settles_with_the_first_window_from_which_on_it_stays() -> None:
    still = [0.1] * 6
    assert settles([0.5, 0.9, 0.7, 0.3, 0.3, 0.3], still) == 40
    # Its mean stands still, but it narrows down.
    assert settles([0.3] * 6, [0.28, 0.25, 0.1, 0.1, 0.1, 0.1]) == 30
    # It comes by where it ends, and leaves again.
    assert settles([0.5, 0.3, 0.9, 0.9, 0.3, 0.3], still) == 50
    # The last four of forty windows have the mean 37.5 / 39; 34 / 39 is within 0.1 of it.
    assert settles(np.linspace(0, 1, 40).tolist(), [0.05] * 40) == 350


def test_single_windows_may_be_off_by_chance() -> None:
    once = [0.9, *[0.3] * 5, 0.9, *[0.3] * 13]
    # Of the 19 windows from the second one on, one is off.
    assert settles(once, [0.1] * 20) == 20
    # Two of 19 are more than a tenth; of the 13 behind the first of them, one is less.
    twice = [0.9, *[0.3] * 5, 0.9, *[0.3] * 5, 0.9, *[0.3] * 7]
    assert settles(twice, [0.1] * 20) == 80


def test_a_parameter_that_stays_as_wide_as_uniform_draws_never_settles() -> None:
    # Of the numbers 0 to 99, over 99.
    uniform = math.sqrt((100**2 - 1) / 12) / 99
    assert settles([0.5] * 6, [0.81 * uniform] * 6) == math.inf
    assert settles([0.5] * 6, [0.79 * uniform] * 6) == 10
    assert settles([0.0] * 6, [0.0] * 6, number=1) == math.inf


def test_kept_windows_are_spaced_on_a_logarithmic_axis() -> None:
    kept = log_spaced(100)
    assert (kept[:4], kept[-1]) == ([0, 1, 2, 3], 99)
    assert log_spaced(1) == [0]


# --- Overhead -----------------------------------------------------------------------------------


def test_layers_take_their_mean_samples_and_the_warm_up_as_often_as_it_is_counted() -> None:
    reaches = [Reach((100,) * 3, 1000), Reach((90, 300, math.inf), 1000)]
    counted = [total(reaches, 4, 5000, how) for how in ("never", "once", "every time")]
    assert counted == [(800, "800"), (5800, "5,800"), (20800, "20,800")]
    late = [*reaches, Reach((5, math.inf, math.inf), 1000)]
    assert total(late, 3, 5000, "once") == (6400, ">6,400")


def test_the_interval_of_mean_samples_is_open_where_searches_do_not_arrive() -> None:
    sure, never = Reach((100, 200, 300), 1000), Reach(NEVER, 1000)
    assert mean_interval([sure]) == (100, 300)
    assert mean_interval([sure, replace(sure, samples=(500,) * 3)]) == (300, 400)
    assert mean_interval([sure, never]) == (550, math.inf)
    assert mean_interval([replace(sure, samples=(100,))]) == (0, math.inf)
