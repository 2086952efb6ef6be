"""What Figs. 4 and 5 and the decomposition compute, against searches that were made up."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from paper_helpers import LONG, MARL, PPO, SHORT, made_up

from clustering import Samples, cluster
from experiments.cells import Finished
from experiments.csv_files import read_csv, write_csv
from experiments.paper.arena import make_arenas
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
from experiments.paper.item import QUICK, Places, Run
from experiments.paper.judging import at_least, everywhere, mostly
from experiments.paper.reach import Factor, Reach

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
    assert "To the best of all its samples it is 22.7x [22.7, 22.7]." in charged.found


def of_two_problems() -> dict[Run, Finished]:
    """Searches that a single agent ends with a cost of 30, and MARL with 20."""
    single = Run("vgg16_l2", "latency", "ppo", 0, QUICK.single_agent_samples)
    finished = {}
    for objective, seed in product(("latency", "edp"), range(3)):
        slow = replace(single, objective=objective, seed=seed)
        fast = replace(slow, mapper="marl", samples=QUICK.samples)
        late = [1.0] * 15 + [4.0]
        finished[slow] = made_up(slow, [(1, 50.0), (16, 40.0), (500, 30.0)], late)
        finished[fast] = made_up(fast, [(1, 40.0), (2, 20.0)], [1.0] * 16)
    return finished


def test_every_claim_of_samples_has_one_yardstick_and_the_verdict_is_by_that(
    places: Places,
) -> None:
    Fig5().write(of_two_problems(), QUICK, places)
    claims = {claim.paper: claim for claim in Fig5().section(places).claims}
    yardstick = " Yardstick: the single agent's converged mean return."
    of_samples = [paper for paper in claims if "fewer" in paper or "improves" in paper]
    assert len(of_samples) == 3
    assert all(paper.endswith(yardstick) for paper in of_samples)
    abstract = claims[f"MARL improves sample efficiency by 30 to 300x (abstract).{yardstick}"]
    # MARL's 256 samples never have the mean return that the single agent has after 512.
    assert abstract.holds is False
    assert abstract.found.startswith("<2x [0, 2] to the converged mean return")
    assert "By the best so far, which Table III decides on, it is 16x" in abstract.found


def test_final_costs_name_their_problems_and_the_picture_is_explained(places: Places) -> None:
    Fig5().write(of_two_problems(), QUICK, places)
    section = Fig5().section(places)
    (final,) = (claim for claim in section.claims if "final performance" in claim.paper)
    assert (
        "vgg16_l2, latency 1.500 [1.500, 1.500]; vgg16_l2, edp 1.500 [1.500, 1.500]" in final.found
    )
    beside = section.body.partition("###")[0]
    assert "least to the greatest of the seeds: 3 of `ppo`, 3 of `marl`." in beside
    assert "A return of 1 is that of a typical random mapping" in beside


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
