"""Ratios, counts and verdicts of Table III against those of searches that were made up."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from experiments.cells import Cell, Finished
from experiments.paper.acceptance import (
    PAPERS,
    Count,
    acceptance,
    gaps,
    leads,
    median_reaches,
    median_samples,
    soonest,
)
from experiments.paper.arena import WARMED, Arena, make_arenas
from experiments.paper.item import FULL, Run
from experiments.paper.printed import TABLE_3
from experiments.paper.ratios import (
    arrival,
    cost_ratio,
    expected_samples,
    found_after,
    samples_to,
    times_fewer,
)
from experiments.paper.searches import goal
from experiments.paper.table3 import MAPPERS, Table3
from experiments.paper.table3_claims import claims
from experiments.paper.table3_rows import groups
from experiments.standings import Contest

LAYER = "mobilenetv2_l2"
SAMPLES = 100
CELLS = {"paper": 1, "edge": 1}
Found = dict[int, float]


def search(mapper: str, seed: int, found: Found, warm_up: int = 0) -> Finished:
    return Finished(
        Cell(LAYER, "latency", mapper, seed),
        evaluations=SAMPLES,
        invalid=0,
        unique=SAMPLES,
        warm_up=warm_up,
        at=np.array(list(found), dtype=np.int64),
        values=np.array(list(found.values())),
        best_point=(0,) if found else None,
        seconds=1.0,
        model_seconds=0.5,
        versions={},
    )


def arena(searches: Mapping[str, Sequence[Found]], hardware: str = "paper") -> Arena:
    made = {
        mapper: tuple(search(mapper, seed, found) for seed, found in enumerate(each))
        for mapper, each in searches.items()
    }
    run = Run(LAYER, "latency", "marl", 0, SAMPLES, hardware)
    return Arena("exact", hardware, SAMPLES, Contest(LAYER, "latency", goal(run), made))


def ends(*values: float) -> list[Found]:
    """Searches that find these values at once and nothing else."""
    return [{1: value} for value in values]


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


# --- Counts and verdicts ------------------------------------------------------------------------


def papers(marl: Sequence[float], best: Sequence[float]) -> dict[str, list[Found]]:
    """Searches of the paper's mappers of which ``ga`` is the best."""
    others = {mapper: ends(1e6, 1e6) for mapper in PAPERS}
    return {**others, "ga": ends(*best), "marl": ends(*marl)}


def test_marl_leads_up_to_the_upper_end_of_the_interval_of_the_best() -> None:
    # The mean of ga is 15; resamples reach 20 in a quarter of the cases.
    arenas = [
        arena(papers(marl=(20, 20), best=(10, 20))),
        arena(papers(marl=(20.1, 20.1), best=(10, 20))),
        arena(papers(marl=(14, 14), best=(15, 15))),
        arena({"marl": ends(1)}),
    ]
    assert leads(arenas, PAPERS, SAMPLES, cells=4) == Count(yes=2, counted=3, cells=4)
    assert leads(arenas, ("bo",), SAMPLES, cells=4) == Count(yes=3, counted=3, cells=4)


def test_without_a_finite_mean_marl_does_not_lead() -> None:
    def cell(marl: list[Found], ga: list[Found]) -> Arena:
        return arena({"marl": marl, "ga": ga})

    nothing: list[Found] = [{}, {}]
    # A resample of these in which more than a quarter have nothing is likely.
    mostly: list[Found] = [*ends(*[10] * 6), {}, {}]
    arenas = [
        cell(nothing, nothing),
        cell(nothing, ends(9, 9)),
        cell(ends(9, 9), nothing),
        cell(ends(9, 9), mostly),
        cell(ends(11, 11), mostly),
    ]
    judged = [leads([each], ("ga",), SAMPLES, cells=1).yes for each in arenas]
    assert judged == [0, 0, 1, 1, 0]


def test_a_cell_that_lacks_a_search_decides_nothing() -> None:
    cell = arena(papers(marl=(14, 14), best=(15, 15)))
    lacking = replace(cell, lacking=frozenset({"ga"}))
    assert leads([cell, lacking], PAPERS, SAMPLES, cells=2) == Count(1, 1, 2)
    assert leads([lacking], ("bo",), SAMPLES, cells=1) == Count(1, 1, 1)
    assert soonest([cell, lacking], median_samples, cells=2).counted == 1
    assert len(gaps([cell, lacking], ("ga",))) == 1
    lines = list(acceptance([cell, lacking], PAPERS, (1, 2, 5, 10, SAMPLES), {"paper": 2}))
    ratio = next(line for line in lines if line.what.startswith("geometric-mean cost ratio ga/"))
    assert (ratio.measured, ratio.holds) == ("1.071 [1.071, 1.071]", None)
    assert ratio.note == "2 cells; not decided yet (1 of 2 cells)"


def test_runs_that_were_asked_for_and_have_not_ended_are_lacking() -> None:
    run = Run(LAYER, "latency", "ga", 0, SAMPLES)
    long = replace(run, samples=3 * SAMPLES)
    asked = [run, replace(run, seed=1), long, replace(run, mapper="marl")]
    found = {run: search("ga", 0, {1: 7.0}), asked[3]: search("marl", 0, {1: 8.0})}
    (cell,) = make_arenas(found, SAMPLES, asked)
    assert cell.lacking == {"ga", "ga, 300 samples"}
    assert (cell.has("ga", "marl"), cell.has_all("ga", "marl")) == (True, False)
    assert cell.has_all("marl")


@pytest.mark.parametrize(
    ("factors", "missing", "verdict"),
    [
        ([40, 50, 60], 0, True),
        ([40, 50, 60], 2, True),
        ([40, 50, 60], 3, None),
        ([1, 2, 3], 2, False),
        ([1, 50, 60], 1, None),
    ],
)
def test_missing_cells_leave_a_median_undecided_only_if_they_decide(
    factors: list[float], missing: int, verdict: bool | None
) -> None:
    assert median_reaches(factors, missing, 30) is verdict


def test_cells_in_which_ppo_finds_nothing_are_not_counted() -> None:
    arenas = [
        arena({"ppo": ends(20), "marl": [{2: 20.0}]}),
        arena({"ppo": [{}], "marl": [{1: 9.0}]}),
        arena({"ppo": ends(20), "marl": ends(21)}),
    ]
    lines = acceptance(arenas, (), (1, 2, 5, 10, SAMPLES), {"paper": 3})
    line = next(line for line in lines if line.threshold == "at least 30")
    assert (line.measured, line.holds) == ("25.0", False)
    assert "not counted: 1 cells where ppo's median search finds nothing valid" in line.note
    assert "0 for 1 cells where MARL's median search never gets there" in line.note


@pytest.mark.parametrize(
    ("count", "verdict", "shown"),
    [
        (Count(26, 32, 32), True, "26 of 32"),
        (Count(25, 32, 32), False, "25 of 32"),
        (Count(25, 31, 32), None, "25 of 31 (1 missing)"),
        (Count(24, 31, 32), False, "24 of 31 (1 missing)"),
        (Count(26, 27, 32), True, "26 of 27 (5 missing)"),
    ],
)
def test_missing_cells_leave_a_count_undecided_only_if_they_decide(
    count: Count, verdict: bool | None, shown: str
) -> None:
    assert count.reaches(26) is verdict
    assert str(count) == shown


def test_gaps_name_the_best_mapper() -> None:
    arenas = [
        arena({"marl": ends(101), "ga": ends(100), "pbil": ends(200)}),
        arena({"marl": ends(100), "ga": ends(101), "pbil": ends(200)}, "edge"),
        arena({"marl": ends(100), "ga": ends(101)}),
        arena({"ga": ends(1)}),
    ]
    first, second = gaps(arenas, ("ga", "pbil"))
    assert (first.cell, first.best) == (f"{LAYER}, latency, paper", "ga")
    assert first.percent == pytest.approx(1)
    assert (second.best, second.percent) == ("marl", 0)


def against_ga(marl: list[Found], ga: list[Found]) -> Arena:
    others = {mapper: [{}] for mapper in PAPERS}
    return arena({**others, "ga": ga, "marl": marl, "long": ends(100)})


def test_the_soonest_by_medians_must_arrive() -> None:
    arenas = [
        against_ga(marl=[{5: 101.0}, {9: 102.0}, {}], ga=[{10: 100.0}]),  # 9 against 10
        against_ga(marl=[{10: 101.0}], ga=[{9: 100.0}]),
        against_ga(marl=[{}], ga=[{}]),  # neither arrives
        against_ga(marl=[{5: 101.0}, {}, {}], ga=[{}]),  # too few arrive
    ]
    assert soonest(arenas, median_samples, cells=4) == Count(yes=1, counted=4, cells=4)


def test_the_soonest_by_expected_samples_counts_those_spent_in_vain() -> None:
    cell = against_ga(marl=[{5: 101.0}, {9: 102.0}, {}], ga=[{60: 100.0}, {70: 100.0}])
    assert expected_samples(cell, "marl", 2) == (5 + 9 + SAMPLES) / 2
    assert expected_samples(cell, "ga", 2) == 65
    assert expected_samples(cell, "bo", 2) == math.inf
    arenas = [
        cell,
        against_ga(marl=[{5: 101.0}, {}], ga=[{60: 103.0}]),  # one arrives, none of the other's
        against_ga(marl=[{}], ga=[{}]),
    ]
    assert soonest(arenas, expected_samples, cells=3) == Count(yes=2, counted=3, cells=3)


def test_the_lines_of_acceptance_are_those_computed_by_hand() -> None:
    at = (1, 2, 5, 10, SAMPLES)
    rest = {"bo": ends(40), "random": ends(80), "ppo_box": ends(20)}
    arenas = [
        # MARL: 20 at first, 10 from the second sample on.
        arena(
            {
                **rest,
                "gamma": [{1: 30.0, 9: 15.0, 50: 9.9}],
                "ga": [{1: 40.0, 50: 12.0}],
                "ppo": [{100: 20.0}],
                "marl": [{1: 20.0, 2: 10.0}],
            }
        ),
        arena(
            {
                **rest,
                "gamma": [{1: 30.0, 9: 20.0, 50: 11.0}],
                "ga": [{1: 40.0, 50: 10.0}],
                "ppo": [{50: 10.0}],
                "marl": [{1: 20.0, 2: 10.0}],
            },
            "edge",
        ),
    ]
    mappers = ("random", "bo", "ga", "gamma", "ppo", "ppo_box")
    lines = {line.what: line for line in acceptance(arenas, mappers, at, CELLS)}
    found = [(line.threshold, line.measured, line.holds) for line in lines.values()]
    assert found == [
        ("at least 2", "2 of 2", True),  # 10 against 30 and 30
        ("at least 2", "2 of 2", True),
        ("at least 2", "2 of 2", True),
        ("at least 1.05", "3.000", True),  # 30 / 10 at 2
        ("at least 1.02", "1.732", True),  # 15 / 10 and 20 / 10 at 10
        ("at least 1.10", "3.000", True),
        ("at least 1.10", "4.000", True),
        ("all 2", "1 of 2", False),  # 10 / 9.9 is 1.01 % too much
        ("", "1 of 2", None),
        ("at least 2", "2 of 2", True),  # 2 against 50 and more
        ("", "2 of 2", None),
        ("at least 30", "75.0", True),  # 100 / 1 and 100 / 2
        ("", "100.0", None),
    ]
    gap = lines[f"cells where MARL ends within 0.5 % of the best mapper at {SAMPLES}"]
    assert gap.note == f"{LAYER}, latency, paper: 1.01 % behind gamma"
    fewer = next(line for line in lines.values() if line.threshold == "at least 30")
    # ppo found its bests after 100 and 50 samples: 100 / 1 and 50 / 2.
    assert fewer.note.startswith("2 of 2 cells, 50.0 to 100.0;")
    assert fewer.note.endswith(": 62.5")


def test_without_searches_nothing_is_decided() -> None:
    lines = list(acceptance([], MAPPERS, FULL.checkpoints, {"paper": 16, "edge": 16}))
    assert {line.holds for line in lines} == {None}
    assert "0 of 0 (32 missing)" in {line.measured for line in lines}
    assert "at least 26" in {line.threshold for line in lines}
    assert "at least 20" in {line.threshold for line in lines}


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
