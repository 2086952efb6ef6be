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
from experiments.files import ensure_directory
from experiments.paper.arena import make_arenas
from experiments.paper.curves import log_spaced
from experiments.paper.decomposition import Decomposition, mainly, samples_to_default, saved
from experiments.paper.fig4 import agents_at, clustering_of, heights, low_share, pairs_of, strongest
from experiments.paper.fig5 import Fig5, compare
from experiments.paper.fig5_rows import BEST, CONVERGED, Comparison
from experiments.paper.fig5_section import at_least
from experiments.paper.fig6 import Fig6, mean_share
from experiments.paper.fig7 import Fig7
from experiments.paper.item import QUICK, Item, Places, Run
from experiments.paper.overhead import Overhead
from experiments.paper.overhead_section import total
from experiments.paper.ratio_rows import RatioRow, ratio_rows, tally
from experiments.paper.reach import Factor, Reach
from experiments.paper.searches import goal
from experiments.paper.variants import Variant, duels, variants
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
    # The pairs of c correlate by chance alone.
    assert abs(r[0, 2]) < 0.2
    assert low_share(made) == pytest.approx(2 / 3)
    # Equal rows merge at height 0; Ward joins two points and one at sqrt(4/3) of their distance.
    distance = math.dist([1, 1, r[0, 2]], [r[0, 2], r[0, 2], 1])
    assert heights(made) == pytest.approx((0, math.sqrt(4 / 3) * distance))
    assert [agents_at(made, threshold) for threshold in (0.0, 0.5, 2.5)] == [2, 2, 1]


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
    converged, best = compare(long, short)
    assert (converged.target, converged.value) == (CONVERGED, 4.0)
    assert converged.slow == Reach(400, 3, 3, LONG)
    assert converged.fast == Reach(100, 2, 3, SHORT)
    # After MARL's 100 samples the single agents have 30, 40 and 45.
    assert (best.target, best.value) == (BEST, 40.0)
    assert best.slow == Reach(90, 2, 3, LONG)
    assert best.fast == Reach(15, 2, 3, SHORT)
    assert str(best.factor) == "6x"
    charged = replace(best, warm_up=1000).charged
    assert charged.value == pytest.approx(90 / 1015)


def test_a_comparison_comes_back_from_its_file() -> None:
    finished = problem()
    (long,), (short,) = make_arenas(finished, LONG), make_arenas(finished, SHORT)
    for each in compare(long, short):
        texts = dict(zip(Comparison.header(), map(str, each.row()), strict=True))
        assert Comparison.of(texts) == each


@pytest.mark.parametrize(
    ("found", "holds"),
    [
        (Factor(30.0, ""), True),
        (Factor(29.9, ""), False),
        (Factor(40.0, ">"), True),
        (Factor(20.0, "<"), False),
        # Less than 40, or more than 20: perhaps 30.
        (Factor(40.0, "<"), None),
        (Factor(20.0, ">"), None),
        (Factor(99.0, "?"), None),
    ],
)
def test_a_bound_decides_a_claim_only_on_its_own_side(found: Factor, holds: bool | None) -> None:
    assert at_least(found, 30) is holds


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
    assert found["ppo"] == Reach(80, 3, 4, SHORT)
    assert found["marl"] == Reach(8, 1, 1, SHORT)


def test_savings_are_geometric_means_over_the_problems_that_have_both() -> None:
    def reach(samples: float) -> Reach:
        return Reach(samples, 1, 1, 100)

    samples = {
        ("a", "edp"): {"ppo": reach(40), "marl": reach(10)},
        ("b", "edp"): {"ppo": reach(81), "marl": reach(9)},
        ("c", "edp"): {"ppo": reach(81)},
    }
    assert saved(samples, "ppo", "marl") == Factor(pytest.approx(6.0), "")
    assert saved(samples, "marl", "ppo:x") is None


def test_a_step_saves_mainly_if_it_saves_more_than_all_others_together() -> None:
    steps = [Factor(2.0, ""), Factor(7.0, ""), Factor(3.0, "")]
    assert mainly(steps, 1) is True
    assert mainly([*steps, Factor(1.2, "")], 1) is False
    assert mainly([*steps[:2], Factor(3.0, ">")], 1) is None


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
    assert [(row.samples, row.ratio) for row in rows] == [(20, 1.3333), (50, 0.6667)]
    assert [str(row) for row in rows] == ["1.333", "0.667"]
    assert list(ratio_rows(arenas, "marl", "bo", (20,))) == []


def test_intervals_decide_which_is_better() -> None:
    rows = [
        RatioRow(1, 1, 0.9, low, high, 0, 0)
        for low, high in ((0.8, 0.95), (0.8, 1.0), (1.0, 1.2), (1.01, 1.2), (math.nan, math.nan))
    ]
    assert tally(rows) == (1, 1, 3)
    assert str(RatioRow(8, 20, 0.9, 0.8, 0.95, 2, 0)) == "0.900 [0.8000, 0.9500]; none in 2"


# --- Overhead -----------------------------------------------------------------------------------


def test_layers_take_their_mean_samples_and_the_warm_up_as_often_as_it_is_counted() -> None:
    reaches = [Reach(100, 3, 3, 1000), Reach(300, 2, 3, 1000)]
    assert str(total(reaches, 4, 5000, "never")) == "800"
    assert str(total(reaches, 4, 5000, "once")) == "5,800"
    assert str(total(reaches, 4, 5000, "every time")) == "20,800"
    late = [*reaches, Reach(math.inf, 1, 3, 1000)]
    assert str(total(late, 3, 5000, "once")) == ">6,400"


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
