"""Ratios and arenas of Table III against those of searches that were made up."""

from __future__ import annotations

import numpy as np
from table3_helpers import LAYER, SAMPLES, arena, ends, search

from experiments.paper.arena import WARMED, Arena, make_arenas
from experiments.paper.counts import PAPERS
from experiments.paper.item import FULL, Run
from experiments.paper.printed import TABLE_3
from experiments.paper.ratios import (
    arrival,
    cost_ratio,
    found_after,
    samples_to,
    times_fewer,
)
from experiments.paper.table3 import MAPPERS, Table3
from experiments.paper.table3_claims import claims
from experiments.paper.table3_rows import groups

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
    ratio = cost_ratio(arenas, "ga", "marl", np.array([1, SAMPLES]))
    assert ratio.arenas == 2
    np.testing.assert_allclose(ratio.figure, [4, 4])


def test_a_cost_ratio_tells_apart_the_numbers_of_samples() -> None:
    arenas = [arena({"ga": [{1: 80.0, 50: 10.0}], "marl": [{1: 20.0, 30: 10.0}]})]
    ratio = cost_ratio(arenas, "ga", "marl", np.array([1, 49, 50]))
    np.testing.assert_allclose(ratio.figure, [4, 8, 1])
    assert ratio.interval is None


def test_where_one_has_nothing_valid_there_is_no_ratio_but_a_count() -> None:
    arenas = [
        arena({"ga": ends(6, 6), "marl": ends(2, 2)}),
        arena({"ga": [{}, {}], "marl": ends(2, 2)}),
        arena({"ga": ends(5, 5), "marl": [{9: 5.0}, {9: 5.0}]}),
        arena({"ga": [{}, {}], "marl": [{}, {}]}),
    ]
    ratio = cost_ratio(arenas, "ga", "marl", np.array([1, 9]))
    np.testing.assert_allclose(ratio.figure, [3, np.sqrt(3)])
    assert (ratio.without.tolist(), ratio.alone.tolist()) == ([1, 1], [1, 0])
    nowhere = cost_ratio(arenas[1:2], "ga", "marl", np.array([1]))
    assert np.isnan(nowhere.figure).all()
    assert nowhere.without.tolist() == [1]


def test_the_interval_of_a_ratio_is_that_of_its_resamples() -> None:
    same = cost_ratio([arena({"ga": ends(6, 6), "marl": ends(2, 2)})], "ga", "marl", np.array([1]))
    assert same.interval is not None
    np.testing.assert_allclose(same.interval, [[3], [3]])
    # Pairs of {2, 4} over pairs of {1, 2}: from 2 / 2 to 4 / 1, both more often than 2.5 %.
    wide = cost_ratio([arena({"ga": ends(2, 4), "marl": ends(1, 2)})], "ga", "marl", np.array([1]))
    assert wide.interval is not None
    np.testing.assert_allclose(wide.interval, [[1], [4]])


def test_a_resample_may_lose_what_the_seeds_have_found() -> None:
    seeds = [*ends(4, 4, 4, 4, 4, 4), {}]
    ratio = cost_ratio(
        [arena({"ga": seeds, "marl": ends(2, 2, 2)})], "ga", "marl", np.array([SAMPLES])
    )
    assert ratio.figure.tolist() == [2]
    assert ratio.interval is not None
    np.testing.assert_allclose(ratio.interval, [[2], [np.inf]])


def test_arrivals_count_never_as_infinite() -> None:
    arenas = [
        arena({"ga": [{2: 200.0, 10: 105.0}, {5: 105.1}], "long": ends(100)}),
        arena({"ga": [{40: 52.0, 60: 50.9}, {20: 50.0}], "long": ends(50)}),
    ]
    within_5 = arrival(arenas, "ga", 5)
    assert within_5 is not None
    # 10, never, 40, 20
    assert (within_5.searches, within_5.median, within_5.share) == (4, 30, 0.75)
    within_2 = arrival(arenas, "ga", 2)
    assert within_2 is not None
    # never, never, 60, 20
    assert (within_2.median, within_2.share) == (np.inf, 0.5)
    assert arrival(arenas, "bo", 5) is None


def test_times_fewer_counts_to_the_median_of_the_ends() -> None:
    found = arena(
        {
            "ppo": [{90: 10.0}, {1: 99.0, 60: 20.0}, {70: 30.0}],
            "marl": [{1: 50.0, 5: 20.0}, {10: 1.0}, {3: 21.0}],
        }
    )
    # The median end is 20; MARL gets there after 5, 10 and never.
    assert samples_to(found, "marl", 20.0).tolist() == [5, 10, np.inf]
    assert times_fewer(found, "marl", "ppo") == SAMPLES / 10
    assert found_after(found, "ppo") == 70
    assert times_fewer(arena({"ppo": ends(1), "marl": ends(2)}), "marl", "ppo") == 0
    # Of two ends in the middle the greater one, 20; of the samples to it likewise.
    even = arena({"ppo": ends(10, 20), "marl": [{5: 20.0}, {8: 20.0}]})
    assert times_fewer(even, "marl", "ppo") == SAMPLES / 8
    # Where half of its searches find nothing valid there is nothing to get to.
    half = arena({"ppo": [{1: 9.0}, {}], "marl": [{4: 2.0}]})
    assert times_fewer(half, "marl", "ppo") is None
    nothing = arena({"ppo": [{}], "marl": [{4: 2.0}]})
    assert times_fewer(nothing, "marl", "ppo") is None
    assert found_after(nothing, "ppo") == SAMPLES


# --- Arenas -------------------------------------------------------------------------------------


def test_long_searches_are_part_of_the_best_known_alone() -> None:
    short = Run(LAYER, "latency", "ga", 0, SAMPLES)
    long = Run(LAYER, "latency", "ga", 0, 3 * SAMPLES)
    other = Run(LAYER, "latency", "ga", 0, SAMPLES, model="maestro")
    (found, second) = make_arenas(
        {
            short: search("ga", 0, {1: 7.0}),
            long: search("ga", 0, {200: 5.0}),
            other: search("ga", 0, {1: 1.0}),
        },
        SAMPLES,
    )
    assert (found.model, second.model) == ("exact", "maestro")
    assert found.contest.best_known == 5
    assert found.contest.bests("ga", np.array([SAMPLES])).tolist() == [[7]]


def test_a_charged_warm_up_delays_a_search() -> None:
    run = Run(LAYER, "latency", "marl_clustered", 0, SAMPLES)
    (found,) = make_arenas({run: search("marl_clustered", 0, {1: 9.0, 20: 5.0}, 30)}, SAMPLES)
    at = np.array([1, 30, 31, 50])
    assert found.contest.bests(WARMED, at).tolist() == [[np.inf, np.inf, 9, 5]]
    assert found.contest.bests("marl_clustered", at).tolist() == [[9, 5, 5, 5]]


def test_groups_are_models_and_their_hardware() -> None:
    paper, edge = arena({}), arena({}, "edge")
    maestro = Arena("maestro", "paper", SAMPLES, paper.contest)
    assert groups([paper, edge, maestro]) == {
        "exact": [paper, edge],
        "exact, paper": [paper],
        "exact, edge": [edge],
        "maestro, paper": [maestro],
    }


# --- The paper ----------------------------------------------------------------------------------


def test_the_printed_ratios_that_do_not_follow_from_the_printed_values_are_known() -> None:
    wrong = {
        (network, objective, mapper): round(printed.recomputed(mapper), 2)
        for (network, objective), printed in TABLE_3.items()
        for mapper, ratio in printed.ratios.items()
        if abs(printed.recomputed(mapper) / ratio - 1) > 0.01
    }
    assert wrong == {("mobilenetv2", "edp", "ppo"): 19.5, ("mobilenetv2", "edp", "gamma"): 1.54}
    assert all(set(printed.ratios) == set(PAPERS) for printed in TABLE_3.values())


def test_the_full_scale_has_the_reporting_cells_and_seeds() -> None:
    runs = list(Table3().runs(FULL))
    assert len(set(runs)) == len(runs)
    exact = [run for run in runs if run.model == "exact"]
    cells = {(run.layer, run.objective, run.hardware) for run in exact}
    assert len(cells) == 32
    counts = {
        mapper: len([r for r in exact if r.mapper == mapper and r.samples == 20_000])
        for mapper in MAPPERS
    }
    costly = {"bo", "marl_mlp"}
    assert counts == {mapper: 96 if mapper in costly else 320 for mapper in MAPPERS}
    maestro = [run for run in runs if run.model == "maestro"]
    assert {run.hardware for run in maestro} == {"paper"}
    assert {run.mapper for run in maestro} == set(MAPPERS) - costly
    assert {run.seed for run in maestro} == {0, 1, 2}
    long = [run for run in runs if run.samples == 300_000]
    assert len(long) == 32 + 16
    assert {run.mapper for run in long} == {"ga"}


def network_row(mapper: str, ratio: str, low: str, high: str, recomputed: str) -> dict[str, str]:
    row = {"model": "exact", "network": "vgg16", "objective": "edp", "mapper": mapper, "layer": ""}
    return {
        **row,
        "ratio": ratio,
        "low": low,
        "high": high,
        "without": "0",
        "alone": "0",
        "printed": recomputed,
        "recomputed": recomputed,
    }


def test_claims_are_decided_by_the_rows() -> None:
    ahead = network_row("ppo", "40", "30", "50", "16.39")
    even = network_row("gamma", "1.2", "0.99", "1.3", "1.16")
    behind = network_row("ga", "0.9", "0.8", "0.95", "1.16")
    lead, size = claims([ahead], [], [], [])
    assert (lead.holds, size.holds) == (True, True)
    lead, size = claims([ahead, even], [], [], [])
    assert (lead.holds, size.holds) == (None, None)
    assert lead.found.startswith("1 of 2 geometric-mean ratios")
    assert "The number of them within 1% of 1 is 0. " in lead.found
    assert "gamma" in lead.found
    lead, size = claims([ahead, even, behind], [], [], [])
    assert (lead.holds, size.holds) == (False, False)
    assert "1 of 3 ratios" in size.found
    # One seed tells no spread.
    assert claims([network_row("ga", "40", "", "", "1.22")], [], [], [])[0].holds is None
    assert claims([], [], [], []) == []


def test_the_claim_of_fewer_samples_is_decided_over_cells() -> None:
    line = {"what": "times fewer samples than ppo spends", "measured": "50", "note": "cells"}

    def holds(*times: float) -> bool | None:
        rows = [{"single_agent": "ppo", "times": str(each)} for each in times]
        left_out = [{"single_agent": "ppo", "times": ""}, {"single_agent": "x", "times": "1"}]
        (claim,) = claims([], [], [line], [*rows, *left_out])
        return claim.holds

    assert holds(*[50] * 8) is True
    assert holds(*[5] * 8) is False
    assert holds(1, 1, 1, 50, 50, 50, 50) is None
    assert holds(50) is None


def ratio_row(
    mapper: str, samples: int, ratio: str, without: int, alone: int = 0
) -> dict[str, str]:
    keys = {"group": "exact", "mapper": mapper, "samples": str(samples), "of": "9"}
    ends = {"low": ratio and "2", "high": ratio and "inf"}
    return {**keys, "ratio": ratio, **ends, "without": str(without), "alone": str(alone)}


def test_the_claim_of_equal_budgets_says_which_cells_it_leaves_out() -> None:
    rows = [ratio_row("random", 500, "10.94", 12), ratio_row("random", 1000, "9.886", 9)]
    rows += [ratio_row("gamma", 500, "1.241", 0), ratio_row("gamma", 1000, "1.135", 0)]
    (claim,) = claims([], rows, [], [])
    assert claim.holds is True
    assert claim.found == (
        "over all reporting cells it does so in 4 of 4 comparisons. Costs in multiples of MARL's "
        "after 500, 1,000 samples: random 10.9, 9.89; gamma 1.24, 1.14. Cells left out, as their "
        "interquartile mean is infinite there: random 12, 9."
    )
    (claim,) = claims([], [*rows, ratio_row("ga", 500, "", 9)], [], [])
    assert "ga none. None: no cell has a finite" in claim.found
    (claim,) = claims([], [*rows, ratio_row("ga", 500, "2.0", 0, alone=3)], [], [])
    assert claim.holds is None
    assert claim.found.endswith("as MARL's interquartile mean alone is infinite there: ga 3.")


def test_times_fewer_are_told_by_hardware_and_yardstick() -> None:
    start, median = "times fewer samples than ", "spends to its median best, median over cells"
    lines = [
        {"what": f"{start}ppo {median}", "measured": "126.6"},
        {"what": f"{start}ppo {median} under paper", "measured": "85.9"},
        {"what": f"{start}ppo {median} under edge", "measured": "1666.7"},
        {"what": f"{start}ppo_box {median}", "measured": "58.4"},
    ]
    (claim,) = claims([], [], lines, [{"single_agent": "ppo", "times": "50"}])
    assert "Yardstick: the best so far." in claim.paper
    assert (
        "126.6 times fewer than ppo (85.9 under `paper`, 1666.7 under `edge`), 58.4 times fewer "
        "than ppo_box." in claim.found
    )
