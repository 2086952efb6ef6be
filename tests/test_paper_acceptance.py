"""Counts and verdicts of Table III against those of searches that were made up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
from table3_helpers import CELLS, LAYER, SAMPLES, Found, arena, ends, search

from experiments.paper.acceptance import acceptance
from experiments.paper.arena import Arena, make_arenas
from experiments.paper.counts import PAPERS, Count, gaps, leads, median_samples, soonest
from experiments.paper.fewer_line import median_reaches
from experiments.paper.item import FULL, Run
from experiments.paper.ratios import expected_samples
from experiments.paper.table3 import MAPPERS

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
    assert "not counted: 1 cell where ppo's median search finds nothing valid" in line.note
    assert "0 for 1 cell where MARL's median search never gets there" in line.note


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
        ("at least 2", "2 of 2", True),
        ("at least 30", "75.0", True),  # 100 / 1 and 100 / 2
        ("", "100.0", None),
        ("", "50.0", None),
        ("", "100.0", None),
    ]
    gap = lines[f"cells where MARL ends within 0.5 % of the best mapper at {SAMPLES}"]
    cell = f"{LAYER}, latency, paper"
    assert gap.note == (
        f"behind MARL's own variants: 0 of 1; the largest gap to any other learner is 1.01 % "
        f"(gamma on {cell}); {cell}: 1.01 % behind gamma"
    )
    fewer = next(line for line in lines.values() if line.threshold == "at least 30")
    # ppo found its bests after 100 and 50 samples: 100 / 1 and 50 / 2.
    assert fewer.note.startswith("2 of 2 cells; 50.0 to 100.0;")
    assert ": 62.5;" in fewer.note


def test_misses_against_marls_own_variants_are_told() -> None:
    arenas = [
        arena({"marl": ends(101), "marl_mlp": ends(100), "ga": ends(200)}),
        arena({"marl": ends(102), "marl:agents=1": ends(100), "ga": ends(101.9)}, "edge"),
    ]
    arenas = [
        replace(each, contest=replace(each.contest, searches={**own, **each.contest.searches}))
        for each in arenas
        for own in [arena({"marl_mlp": ends(999), "marl:agents=1": ends(999)}).contest.searches]
    ]
    lines = acceptance(arenas, ("ga", "marl_mlp", "marl:agents=1"), (1, 2, 5, 10, SAMPLES), CELLS)
    line = next(line for line in lines if line.threshold == "all 2")
    assert (line.measured, line.holds) == ("0 of 2", False)
    assert "behind MARL's own variants: all;" in line.note
    assert f"is 0.10 % (ga on {LAYER}, latency, edge);" in line.note


def test_counts_are_given_without_the_twins_of_tuned_layers_too() -> None:
    cell = arena(papers(marl=(14, 14), best=(15, 15)))
    behind = arena(papers(marl=(16, 16), best=(15, 15)))
    same = replace(cell, contest=replace(cell.contest, layer="resnet50_l2"))
    lines = acceptance([cell, same, behind], PAPERS, (1, 2, 5, 10, SAMPLES), {"paper": 3})
    notes = {line.what.partition(" at ")[0]: (line.measured, line.note) for line in lines}
    measured, note = notes["cells where MARL is best of the paper's mappers"]
    assert (measured, note) == ("2 of 3", "without resnet50_l2: 1 of 2")
    measured, note = notes["cells where MARL ends within 0.5 % of the best mapper"]
    assert (measured, note.endswith("; without resnet50_l2: 1 of 2")) == ("2 of 3", True)


def test_both_measures_of_samples_are_held_against_the_threshold() -> None:
    # By its median search MARL never arrives, by its expected samples it is the soonest.
    cells = [against_ga(marl=[{5: 101.0}, {}, {}], ga=[{}])] * 2
    lines = acceptance(cells, PAPERS, (1, 2, 5, 10, SAMPLES), {"paper": 2})
    expected, median = (line for line in lines if "needs fewer" in line.what)
    assert (expected.threshold, expected.measured, expected.holds) == (
        *("at least 2", "2 of 2"),
        True,
    )
    assert (median.threshold, median.measured, median.holds) == ("at least 2", "0 of 2", False)
    assert expected.note.startswith("measure: expected samples")
    assert median.note.startswith("measure: the median")


def test_times_fewer_are_given_for_each_hardware() -> None:
    def cell(hardware: str, valid: int, found: int) -> Arena:
        made = arena({"ppo": ends(20), "marl": [{found: 20.0}]}, hardware)
        (ppo,) = made.contest.searches["ppo"]
        searches = {**made.contest.searches, "ppo": (replace(ppo, invalid=SAMPLES - valid),)}
        return replace(made, contest=replace(made.contest, searches=searches))

    arenas = [cell("paper", 90, 10), cell("edge", 1, 2)]
    lines = acceptance(arenas, (), (1, 2, 5, 10, SAMPLES), CELLS)
    found = {
        line.what.rpartition(" over cells")[2]: (line.measured, line.note)
        for line in lines
        if line.what.startswith("times fewer samples than ppo ")
    }
    assert {where: measured for where, (measured, _) in found.items()} == {
        "": "30.0",
        " under paper": "10.0",
        " under edge": "50.0",
    }
    assert "; 90 % of ppo's samples were valid" in found[" under paper"][1]
    assert "; 1 % of ppo's samples were valid" in found[" under edge"][1]


def test_without_searches_nothing_is_decided() -> None:
    lines = list(acceptance([], MAPPERS, FULL.checkpoints, {"paper": 16, "edge": 16}))
    assert {line.holds for line in lines} == {None}
    assert "0 of 0 (32 missing)" in {line.measured for line in lines}
    assert "at least 26" in {line.threshold for line in lines}
    assert "at least 20" in {line.threshold for line in lines}
