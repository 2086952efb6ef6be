"""What the figures' items compute, against searches that were made up."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from paper_helpers import made_up

from clustering import Samples, cluster
from experiments.cells import Finished
from experiments.csv_files import read_csv, write_csv
from experiments.files import ensure_directory
from experiments.paper.arena import make_arenas
from experiments.paper.curves import log_spaced
from experiments.paper.decomposition import Decomposition, mainly, samples_to_default, saved
from experiments.paper.fig4 import (
    Fig4,
    agents_at,
    clustering_of,
    heights,
    low_share,
    pairs_of,
    rank,
    strongest,
)
from experiments.paper.fig5 import Fig5, compare
from experiments.paper.fig5_rows import BEST, CONVERGED, LAST, Comparison
from experiments.paper.fig5_section import ratio_of_medians
from experiments.paper.fig6 import Fig6, mean_share
from experiments.paper.fig6_section import optimal
from experiments.paper.fig7 import Fig7
from experiments.paper.item import QUICK, Item, Places, Run
from experiments.paper.judging import at_least, everywhere, mostly
from experiments.paper.overhead import Overhead
from experiments.paper.overhead_section import mean_interval, total
from experiments.paper.ratio_rows import RatioRow, ratio_rows, tally
from experiments.paper.reach import Factor, Reach
from experiments.paper.searches import goal
from experiments.paper.variants import Variant, duels, rivals, variants
from experiments.windows import reference
from mappers import make_mapper

LONG, SHORT = 1000, 100
PPO = Run("vgg16_l2", "latency", "ppo", 0, LONG)
MARL = replace(PPO, mapper="marl", samples=SHORT)


# --- Fig. 4 -------------------------------------------------------------------------------------


def correlated() -> Samples:
    """Parameters of which the first two are the same and the last one never changes."""
    rng = np.random.default_rng(0)
    first, other = rng.integers(0, 50, size=(2, 400))
    points = np.stack([first, first, other, np.zeros_like(first)], axis=1)
    return Samples(("a", "b", "c", "d"), ("tile",) * 4, (50,) * 4, points, rng.random(400))


def test_a_clustering_comes_back_from_the_files_it_was_written_to() -> None:
    made = cluster(correlated(), agents=2)
    row = {"parameters": "a b c d", "varying": " ".join(made.tree.leaves), "measure": "pearson"}
    pairs = [
        {"first": first, "second": second, "dependence": str(value)}
        for first, second, value in pairs_of(made.dependence)
    ]
    read = clustering_of(row, pairs)
    np.testing.assert_array_equal(read.dependence.matrix, made.dependence.matrix)
    np.testing.assert_array_equal(read.dependence.varying, [True, True, True, False])
    np.testing.assert_array_equal(read.tree.merges, made.tree.merges)


def test_figures_of_a_clustering_are_those_of_its_matrix_and_tree() -> None:
    made = cluster(correlated(), agents=2)
    r = np.corrcoef(correlated().top().points[:, :3], rowvar=False)
    assert strongest(made) == ("a", "b", 1.0)
    assert rank(made, {"b", "a"}) == (1, 3)
    weaker = min((0, 1), key=lambda column: (abs(r[column, 2]), column))
    assert rank(made, {"ab"[weaker], "c"})[0] in (2, 3)
    # The pairs of c correlate by chance alone.
    assert abs(r[0, 2]) < 0.2
    assert low_share(made) == pytest.approx(2 / 3)
    # Equal rows merge at height 0; Ward joins two points and one at sqrt(4/3) of their distance.
    distance = math.dist([1, 1, r[0, 2]], [r[0, 2], r[0, 2], 1])
    assert heights(made) == pytest.approx((0, math.sqrt(4 / 3) * distance))
    assert [agents_at(made, threshold) for threshold in (0.0, 0.5, 2.5)] == [2, 2, 1]


def test_filters_and_channels_correlate_strongly_among_the_strongest_pairs(places: Places) -> None:
    Fig4().write({}, QUICK, places)
    path = places.results / "pairs.csv"
    rows = read_csv(path)

    def holds(correlation: float, others: float) -> bool | None:
        """All other pairs but the first have one value."""
        for index, row in enumerate(rows):
            own = {row["first"], row["second"]} == {"l2_tile_K", "l2_tile_C"}
            row["dependence"] = str(correlation if own else 0.9 if index == 0 else others)
        write_csv(path, rows[0], (row.values() for row in rows))
        claim = next(
            each for each in Fig4().section(places).claims if "K and channels" in each.paper
        )
        pairs = sum((row["schema"], row["measure"]) == ("paper10", "pearson") for row in rows)
        place = 2 if correlation > others else pairs
        assert f"r is {correlation:.2f}, number {place} of {pairs} pairs by |r|" in claim.found
        return claim.holds

    assert holds(0.15, 0.1) is True
    assert holds(0.25, 0.3) is True
    assert holds(0.15, 0.18) is False


# --- Fig. 5 -------------------------------------------------------------------------------------


def problem() -> dict[Run, Finished]:
    """A single agent that converges to a return of 4, and MARL that is there sooner."""
    rising = [1.0, 2.0, 3.0, *[4.0] * 7]
    return {
        PPO: made_up(PPO, [(20, 50.0), (90, 30.0), (700, 10.0)], rising),
        replace(PPO, seed=1): made_up(PPO, [(40, 40.0), (950, 20.0)], [*rising[:-1], 5.0]),
        replace(PPO, seed=2): made_up(PPO, [(10, 60.0), (60, 45.0)], [*rising[:-1], 3.0]),
        MARL: made_up(MARL, [(5, 40.0), (30, 9.0)], [1.0, 4.5, 4.0, 4.0], warm_up=0),
        replace(MARL, seed=1): made_up(MARL, [(15, 35.0)], [1.0, 1.0, 1.0, 4.0]),
        replace(MARL, seed=2): made_up(MARL, [(25, 41.0)], [1.0, 1.0, 3.0, 3.0]),
    }


def test_single_agents_and_marl_are_compared_at_where_the_single_agents_get() -> None:
    finished = problem()
    (long,), (short,) = make_arenas(finished, LONG), make_arenas(finished, SHORT)
    converged, best, last = compare(long, short)
    assert (converged.target, converged.value) == (CONVERGED, 4.0)
    assert converged.slow == Reach((400, 400, 400), LONG, 100)
    # MARL's windows are a hundred samples wide too, which is all of them: 3.375, 1.75 and 2.
    assert converged.fast == Reach((math.inf,) * 3, SHORT, 100)
    # After MARL's 100 samples the single agents have 30, 40 and 45.
    assert (best.target, best.value) == (BEST, 40.0)
    assert best.slow == Reach((90, 40, math.inf), LONG)
    assert best.fast == Reach((5, 15, math.inf), SHORT)
    assert str(best.factor) == "6x"
    charged = replace(best, warm_up=1000).charged
    assert charged.value == pytest.approx(90 / 1015)
    # At their end they have 10, 20 and 45.
    assert (last.target, last.value) == (LAST, 20.0)
    assert last.slow == Reach((700, 950, math.inf), LONG)
    assert last.fast == Reach((30, math.inf, math.inf), SHORT)


def test_a_comparison_comes_back_from_its_file() -> None:
    finished = problem()
    (long,), (short,) = make_arenas(finished, LONG), make_arenas(finished, SHORT)
    for each in compare(long, short):
        texts = dict(zip(Comparison.header(), map(str, each.row()), strict=True))
        assert Comparison.of(texts) == each


@pytest.mark.parametrize(
    ("low", "high", "holds"),
    [(30, 99, True), (10, 29.9, False), (29, 31, None), (0, math.inf, None), (math.nan, 99, None)],
)
def test_intervals_decide_claims(low: float, high: float, holds: bool | None) -> None:
    assert at_least(low, high, 30) is holds


def test_verdicts_are_summed_up() -> None:
    assert everywhere([True, None, False]) is False
    assert everywhere([True, None]) is None
    assert everywhere([True, True]) is True
    assert [mostly(yes, no, 4) for yes, no in ((3, 1), (2, 2), (2, 1), (1, 2), (1, 1))] == [
        True,
        False,
        None,
        False,
        None,
    ]
    assert mostly(0, 0, 0) is None


def test_the_interval_of_a_ratio_of_medians_is_that_of_resamples() -> None:
    three, two = np.array([20.0, 30.0, 60.0]), np.array([10.0, 10.0])
    assert ratio_of_medians(three, two) == (3.0, 2.0, 6.0)
    assert ratio_of_medians(three[:1], two) == (2.0, 0.0, math.inf)
    nothing = np.full(3, math.inf)
    assert math.isnan(ratio_of_medians(nothing, nothing)[2])


def test_the_warm_up_is_held_against_the_long_runs_convergence(places: Places) -> None:
    """Ten times 9 windows against a warm-up of 20: the best by MARL's budget would say the rest."""
    single = Run("vgg16_l2", "latency", "ppo", 0, QUICK.single_agent_samples)
    multi = replace(single, mapper="marl_clustered", samples=QUICK.samples)
    late = [1.0] * 15 + [4.0]
    finished = {}
    for seed in range(3):
        slow, fast = replace(single, seed=seed), replace(multi, seed=seed)
        finished[slow] = made_up(slow, [(1, 50.0), (500, 10.0)], late)
        finished[fast] = made_up(fast, [(1, 40.0), (2, 9.0)], [4.0] * 16, warm_up=20)
    Fig5().write(finished, QUICK, places)
    claims = {claim.paper: claim for claim in Fig5().section(places).claims}
    (charged,) = (claim for paper, claim in claims.items() if "(VI-E)" in paper)
    # 512 against 32 + 20 with windows of 32: from (512 - 31) / 52 to 512 / 21; 500 against 22.
    assert charged.holds is True
    assert "9.85x [9.25, 24.4] to the converged mean return" in charged.found
    assert "22.7x [22.7, 22.7] to the best of all its samples" in charged.found


# --- Decomposition ------------------------------------------------------------------------------


def test_steps_are_measured_to_the_end_of_the_default_learner() -> None:
    ppo, last = replace(PPO, samples=SHORT), MARL
    ends = (30.0, 20.0, 10.0, 40.0)
    finished = {
        replace(ppo, seed=seed): made_up(ppo, [(seed + 1, 99.0), (60 + 10 * seed, end)])
        for seed, end in enumerate(ends)
    }
    finished[last] = made_up(last, [(3, 31.0), (8, 30.0)])
    (arena,) = make_arenas(finished, SHORT)
    found = dict(samples_to_default(arena))
    # Two in the middle end at 20 and 30; three searches have 30, after 60, 70 and 80.
    assert found["ppo"] == Reach((60, 70, 80, math.inf), SHORT)
    assert found["marl"] == Reach((8,), SHORT)


def test_savings_are_geometric_means_over_the_problems_that_have_both() -> None:
    def reach(samples: float) -> Reach:
        return Reach((samples,), 100)

    samples = {
        ("a", "edp"): {"ppo": reach(40), "marl": reach(10)},
        ("b", "edp"): {"ppo": reach(81), "marl": reach(9)},
        ("c", "edp"): {"ppo": reach(81)},
    }
    found = saved(samples, "ppo", "marl")
    assert found is not None
    assert (found.value, found.bound) == (pytest.approx(6.0), "")
    assert saved(samples, "marl", "ppo:x") is None


def test_a_step_saves_mainly_if_it_saves_more_than_all_others_together() -> None:
    def between(low: float, high: float) -> Factor:
        return Factor(low, "", low, high)

    # All together save 40 to 48: 7 x 7 is more, 6 x 6 is less.
    whole = between(40, 48)
    assert mainly(between(7, 9), whole) is True
    assert mainly(between(2, 6), whole) is False
    assert mainly(between(6, 7), whole) is None


def test_the_plain_learner_says_all_that_makes_it_plain() -> None:
    plain = [run.mapper for run in Decomposition().runs(QUICK) if ":policy=mlp" in run.mapper]
    assert plain
    for name in plain:
        assert {"clip=0.2", "epochs=4", "entropy=0.01"} <= set(name.split(":"))


# --- Fig. 6 -------------------------------------------------------------------------------------


def test_variants_are_called_as_other_items_call_them() -> None:
    names = [variant.mapper for variant in variants([6, 9])]
    assert names == [
        "marl:agents=1",
        "marl_clustered",
        "marl_clustered:agents=6:measure=interaction",
        "marl_clustered:agents=6:grouping=reversed",
        "marl_clustered:agents=6:grouping=random",
        "marl_clustered:agents=9",
        "marl_clustered:agents=9:measure=interaction",
        "marl_clustered:agents=9:grouping=reversed",
        "marl_clustered:agents=9:grouping=random",
        "marl",
    ]
    assert len({make_mapper(name).config for name in names}) == len(names)


def test_variants_are_the_settings_they_say() -> None:
    for variant in variants([6, 9]):
        config = make_mapper(variant.mapper).config
        assert config.agents == variant.agents
        assert config.grouping == (variant.grouping or "clustered")
        assert config.measure == (variant.measure or "pearson")


def test_every_learnt_grouping_meets_the_random_one_of_as_many_agents() -> None:
    pairs = [(variant.mapper, random.mapper) for variant, random in duels([3])]
    assert pairs == [
        ("marl_clustered:agents=3", "marl_clustered:agents=3:grouping=random"),
        (
            "marl_clustered:agents=3:measure=interaction",
            "marl_clustered:agents=3:grouping=random",
        ),
        ("marl_clustered:agents=3:grouping=reversed", "marl_clustered:agents=3:grouping=random"),
    ]


def test_a_variant_comes_back_from_its_file() -> None:
    for variant in variants([3]):
        texts = dict(zip(Variant.header(), map(str, variant.row()), strict=True))
        assert Variant.of(texts) == variant


def test_mean_returns_are_shares_of_the_best_known() -> None:
    typical = reference(goal(MARL))
    finished = {
        MARL: made_up(MARL, [(1, typical / 2)], [0.5, 1.0]),
        replace(MARL, seed=1): made_up(MARL, [(1, typical / 4)], [1.5, 4.0]),
    }
    (arena,) = make_arenas(finished, SHORT)
    # The best known earns 4.
    np.testing.assert_allclose(mean_share(arena, "marl"), [1 / 4, 2.5 / 4])


def test_ratio_rows_leave_out_what_cannot_be_told() -> None:
    other = replace(MARL, mapper="ga")
    finished = {
        MARL: made_up(MARL, [(10, 8.0), (50, 4.0)]),
        other: made_up(other, [(20, 6.0)]),
    }
    arenas = make_arenas(finished, SHORT)
    rows = list(ratio_rows(arenas, "marl", "ga", (5, 10, 20, 50)))
    assert [(row.samples, row.ratio) for row in rows[1:]] == [(20, 1.3333), (50, 0.6667)]
    # After 5 samples neither has found anything, after 10 only the first has.
    assert [str(row) for row in rows] == ["alone in 1", "1.333", "0.667"]
    assert (rows[0].better, rows[0].worse) == (True, False)
    assert list(ratio_rows(arenas, "marl", "bo", (20,))) == []


def test_intervals_decide_which_is_better() -> None:
    rows = [
        RatioRow(1, 1, 0.9, low, high, 0, 0)
        for low, high in ((0.8, 0.95), (0.8, 1.0), (1.0, 1.2), (1.01, 1.2), (math.nan, math.nan))
    ]
    assert tally(rows) == (1, 1, 3)
    # Cells where only one has found something count as well.
    lost, alone = RatioRow(2, 1, math.nan, math.nan, math.nan, 1, 0), RatioRow(2, 1, 1, 1, 1, 0, 1)
    assert tally([lost, replace(lost, without=0, alone=1), alone]) == (1, 1, 1)
    assert tally([replace(rows[0], without=1), replace(rows[3], alone=1)]) == (0, 0, 2)
    assert str(RatioRow(8, 20, 0.9, 0.8, 0.95, 2, 0)) == "0.900 [0.8000, 0.9500]; none in 2"


@pytest.mark.parametrize(
    ("nine", "six", "verdict"),
    [
        # What two agents and one per parameter cost in multiples of 9 and 6 agents.
        ({2: 1.5, 0: 1.2}, {2: 0.9, 0: 1.0}, True),
        ({2: 1.5, 0: 0.9}, {2: 1.5, 0: 0.9}, False),
        ({2: 1.5, 0: 0.9}, {2: 0.9, 0: 1.5}, None),
        ({2: 1.5, 0: 1.0}, {2: 1.5, 0: 1.0}, None),
    ],
)
def test_numbers_of_agents_are_best_only_for_certain(
    nine: dict[int, float], six: dict[int, float], verdict: bool | None
) -> None:
    rows = {
        base: {agents: [RatioRow(1, 50, r, r - 0.05, r + 0.05, 0, 0)] for agents, r in each.items()}
        for base, each in ((9, nine), (6, six))
    }
    assert optimal(rows, 50) is verdict
    assert optimal(rows, 51) is None


def test_rivals_are_one_agent_and_the_papers_best() -> None:
    names = [(each.mapper, base.mapper) for each, base in rivals([2, 9], (9, 6))]
    two, nine = "marl_clustered:agents=2", "marl_clustered:agents=9"
    assert names == [
        *((each, "marl:agents=1") for each in (two, nine, "marl")),
        *((each, nine) for each in (two, "marl")),
    ]


# --- Fig. 7 -------------------------------------------------------------------------------------


def moves(run: Run, samples: list[int], ends: list[float]) -> Finished:
    """A search of 20 windows whose parameters settle in these, each at such an end."""
    windows = 20
    choices = [
        [end if at >= settled else 1 - end for settled, end in zip(samples, ends, strict=True)]
        for at in range(windows)
    ]
    still = np.full((windows, len(ends)), 0.05).tolist()
    return made_up(run, [(1, 9.0)], [1.0] * windows, choices, still)


def test_only_what_settles_alike_in_both_may_settle_sooner(places: Places) -> None:
    runs = list(Fig7().runs(replace(QUICK, few_seeds=3)))
    assert {run.samples for run in runs} == {QUICK.single_agent_samples}
    count = len(goal(runs[0]).problem.space.parameters)
    few, most = 3, count // 2 + 1

    def claims(alike: int) -> dict[str, bool | None]:
        """Of all parameters some end alike, the others apart; MARL is sooner in all of them."""
        finished = {}
        for run in runs:
            multi = run.mapper.startswith("marl")
            apart = [0.9 if multi else 0.1] * (count - alike)
            finished[run] = moves(run, [2 if multi else 10] * count, [0.1] * alike + apart)
        Fig7().write(finished, QUICK, places)
        return {claim.paper[:4]: claim.holds for claim in Fig7().section(places).claims}

    assert claims(few) == {"both": False, "MARL": None}
    assert claims(most) == {"both": True, "MARL": True}


# --- Overhead -----------------------------------------------------------------------------------


def test_layers_take_their_mean_samples_and_the_warm_up_as_often_as_it_is_counted() -> None:
    reaches = [Reach((100,) * 3, 1000), Reach((90, 300, math.inf), 1000)]
    assert str(total(reaches, 4, 5000, "never")) == "800"
    assert str(total(reaches, 4, 5000, "once")) == "5,800"
    assert str(total(reaches, 4, 5000, "every time")) == "20,800"
    late = [*reaches, Reach((5, math.inf, math.inf), 1000)]
    assert str(total(late, 3, 5000, "once")) == ">6,400"


def test_the_interval_of_mean_samples_is_open_where_searches_do_not_arrive() -> None:
    sure, never = Reach((100, 200, 300), 1000), Reach((math.inf,) * 3, 1000)
    assert mean_interval([sure]) == (100, 300)
    assert mean_interval([sure, replace(sure, samples=(500,) * 3)]) == (300, 400)
    assert mean_interval([sure, never]) == (550, math.inf)
    assert mean_interval([replace(sure, samples=(100,))]) == (0, math.inf)


def test_reuse_is_tried_on_all_reporting_layers_with_the_same_parameters() -> None:
    layers = ("vgg16_l2", "bert_base_l4", "mobilenetv2_l3")
    runs = list(Overhead().runs(replace(QUICK, layers=layers)))
    assert {run.layer for run in runs} == {"vgg16_l2", "mobilenetv2_l3"}


def test_groups_are_the_same_whenever_they_are_made(tmp_path: Path) -> None:
    texts = []
    for name in ("first", "second"):
        places = places_in(tmp_path / name)
        Overhead().prepare(QUICK, places)
        texts.append([path.read_bytes() for path in sorted(places.work.glob("*.json"))])
    assert texts[0] == texts[1]
    assert len(texts[0]) == len(QUICK.objectives)


# --- All items ----------------------------------------------------------------------------------


def places_in(directory: Path) -> Places:
    return Places(directory / "work", directory / "results", directory / "images", "images")


def searched(run: Run) -> Finished:
    """A search of a run that finds something, more or less late."""
    columns = len(goal(run).problem.space.parameters)
    still = np.full((4, columns), 0.1).tolist()
    last = 100.0 - run.seed
    improvements = [(1, 200.0), (run.samples // 2, last)]
    return made_up(run, improvements, [1.0, 2.0, 3.0, 3.0], still, still, warm_up=0)


@pytest.fixture
def places(tmp_path: Path) -> Places:
    made = places_in(tmp_path)
    for each in (made.work, made.results, made.images):
        ensure_directory(each)
    return made


@pytest.mark.parametrize("item", [Fig5(), Decomposition(), Fig6(), Fig7(), Overhead()])
@pytest.mark.parametrize("kept", ["all", "one mapper", "all but one mapper"])
def test_items_are_written_of_whatever_has_ended(item: Item, kept: str, places: Places) -> None:
    item.prepare(QUICK, places)
    runs = list(item.runs(QUICK))
    mapper = runs[-1].mapper
    chosen = {
        "all": runs,
        "one mapper": [run for run in runs if run.mapper == mapper],
        "all but one mapper": [run for run in runs if run.mapper != mapper],
    }[kept]
    item.write({run: searched(run) for run in chosen}, QUICK, places)
    section = item.section(places)
    assert section.body
    assert "no valid mapping yet" not in section.body
    if kept == "all" and item.name in ("fig6", "overhead"):
        assert "too few of its searches have a valid mapping yet" in section.body
    if kept == "all":
        assert section.claims
        assert item.section(places) == section
    assert all(each.found.endswith(".") and "nan" not in each.found for each in section.claims)


def test_kept_windows_are_spaced_on_a_logarithmic_axis() -> None:
    kept = log_spaced(100)
    assert kept[:4] == [0, 1, 2, 3]
    assert kept[-1] == 99
    assert np.all(np.diff(kept) > 0)
    assert len(kept) <= 40
    assert log_spaced(1) == [0]
