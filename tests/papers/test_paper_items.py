"""What every table and figure computes, against searches that were made up."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from itertools import permutations, product
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from paper_helpers import LONG, MARL, PPO, SHORT, made_up, make_folder, searched, view

from maestro_env.clustering import Samples, cluster
from maestro_env.experiments.papers.paper import results
from maestro_env.experiments.papers.paper.items import (
    FULL,
    QUICK,
    decomposition,
    fig4,
    fig5,
    fig6,
    fig7,
    marl_paper,
    optima,
    overhead,
    table2,
    table3,
)
from maestro_env.experiments.papers.paper.items.fig6 import Variant
from maestro_env.experiments.papers.paper.items.table2 import equation_1
from maestro_env.experiments.papers.paper.ledger import Run, goal, make_arenas
from maestro_env.experiments.papers.paper.ratios import Ratio
from maestro_env.experiments.papers.paper.reach import Factor, Reach
from maestro_env.experiments.search.cells import Finished, reference
from maestro_env.experiments.shell.files import ensure_directory, write_csv
from maestro_env.mappers import make_mapper
from maestro_env.workloads.finding import find_layer


@pytest.mark.parametrize(
    "item", [optima, fig5, decomposition, fig6, fig7, overhead], ids=lambda item: item.ITEM.name
)
@pytest.mark.parametrize("one", [True, False])
def test_items_are_written_of_whatever_has_ended(
    item: ModuleType, one: bool, tmp_path: Path
) -> None:
    """Of one mapper alone, and of all the others."""
    runs = make_folder(item.ITEM, tmp_path).runs
    ended = {run: searched(run) for run in runs if (run.mapper == runs[-1].mapper) is one}
    shown = view(item.ITEM, tmp_path, ended)
    assert "nan" not in json.dumps(shown, default=str).lower()


# --- Table II -----------------------------------------------------------------------------------


def test_sizes_are_products_of_choices(tmp_path: Path) -> None:
    verdicts = view(table2.ITEM, tmp_path, {})["verdicts"]
    rows = make_folder(table2.ITEM, tmp_path).rows("spaces.csv")
    found = {row["layer"]: row for row in rows}
    # Two levels: 6! orders, 4 parallel dimensions, tiles of K, C, Y', X'; 1,024 cluster sizes.
    level = math.factorial(6) * 4 * (128 * 64 * 112 * 112)
    assert int(found["vgg16_l2"]["legal13"]) == level**2 * 1024
    assert int(found["vgg16_l2"]["full17"]) == (level * 3 * 3) ** 2 * 1024
    # 1 x 4,096 x 4,096 is the volume of 256 x 256 x 256.
    row = found["alexnet_l6"]
    assert (row["n"], row["d"]) == ("256", "3")
    one = 256**3 * len(list(permutations(range(3)))) * 3
    assert [int(row[f"equation_1_levels_{levels}"]) for levels in (1, 2)] == [one, one**2]
    assert verdicts == {"largest": True, "equation": False}


# --- Table III ----------------------------------------------------------------------------------


def test_the_full_scale_has_the_reporting_cells_and_seeds(tmp_path: Path) -> None:
    runs, own, both = (
        make_folder(module.ITEM, tmp_path, FULL).runs for module in (table3, marl_paper, optima)
    )
    assert len(runs) == 4976
    exact = [run for run in runs if run.model == "exact"]
    assert len({(run.layer, run.objective, run.hardware) for run in exact}) == 32
    costly = {"bo", "marl_mlp"}
    counts = Counter(run.mapper for run in exact)
    assert counts == {mapper: 96 if mapper in costly else 320 for mapper in table3.MAPPERS}
    mappers = ("marl", "marl_paper", "random_log")
    assert Counter(run.mapper for run in own) == dict.fromkeys(mappers, 320)
    assert set(both) == {*exact, *own}


def test_the_printed_ratios_that_do_not_follow_from_the_printed_values_are_known() -> None:
    wrong = {
        (*key, mapper): round(recomputed, 2)
        for key, printed in table3.PRINTED.items()
        for mapper, (ratio, recomputed) in printed.items()
        if abs(recomputed / ratio - 1) > 0.01
    }
    assert wrong == {("mobilenetv2", "edp", "ppo"): 19.5, ("mobilenetv2", "edp", "gamma"): 1.54}


def test_layers_that_the_page_calls_twins_have_one_shape() -> None:
    layers = [find_layer(name) for name in ("resnet18_l2", "resnet50_l2")]
    first, second = ((each.operator, dict(each.extents), each.stride) for each in layers)
    assert first == second


def ratio_row(mapper: str, ratio: str, low: str, high: str, **other: str) -> dict[str, str]:
    keys = {"model": "exact", "network": "vgg16", "objective": "edp", "layer": "", "of": "3"}
    keys |= {"group": "exact", "cells": "3", "samples": "500", "recomputed": "2", "printed": "2"}
    ends = {"ratio": ratio, "low": low, "high": high, "without": "0", "alone": "0"}
    return {**keys, "mapper": mapper, **ends, **other}


@pytest.mark.parametrize(
    ("own", "verdict"), [(("3", "4"), "`marl` only"), (("1.1", "1.2"), True), (("1.5", "3"), True)]
)
def test_the_papers_own_agents_are_judged_beside_marl(
    own: tuple[str, str], verdict: object, tmp_path: Path
) -> None:
    group = {"group": "exact, paper"}
    rows = [
        ratio_row("ga", "2", "1.4", "2.5"),
        ratio_row("ga", "2", "1.4", "2.5", **group),
        ratio_row("marl_paper", "2", *own, **group),
    ]
    folder = make_folder(table3.ITEM, tmp_path)
    ensure_directory(folder.path(""))
    for name in ("networks", "ratios"):
        write_csv(folder.path(f"{name}.csv"), rows[0], (each.values() for each in rows))
    for name in ("leads", "cells", "fewer"):
        write_csv(folder.path(f"{name}.csv"), ("layer",), ())
    assert table3.ITEM.view(folder)["verdicts"]["budgets"] == verdict


# --- Fig. 4 -------------------------------------------------------------------------------------


def correlated() -> Samples:
    """Parameters of which the first two are the same and the last one never changes."""
    rng = np.random.default_rng(0)
    first, other = rng.integers(0, 50, size=(2, 400))
    points = np.stack([first, first, other, np.zeros_like(first)], axis=1)
    return Samples(("a", "b", "c", "d"), ("tile",) * 4, (50,) * 4, points, rng.random(400))


def test_a_clustering_comes_back_from_its_files_with_the_figures_of_its_matrix_and_tree() -> None:
    made = cluster(correlated(), agents=2)
    row = {"parameters": "a b c d", "varying": " ".join(made.tree.leaves), "measure": "pearson"}
    pairs = [
        {"first": first, "second": second, "dependence": str(value)}
        for first, second, value in fig4.pairs_of(made)
    ]
    read = fig4.clustering_of(row, pairs)
    np.testing.assert_array_equal(read.dependence.matrix, made.dependence.matrix)
    np.testing.assert_array_equal(read.tree.merges, made.tree.merges)
    r = np.corrcoef(correlated().top().points[:, :3], rowvar=False)
    found = fig4.facts(read, {"b", "a"})
    assert (found["place"], found["pairs"], found["r"]) == (1, 3, pytest.approx(1))
    # The pairs of c correlate by chance alone.
    assert found["low"] == pytest.approx(2 / 3)
    # Equal rows merge at height 0; Ward joins two points and one at sqrt(4/3) of their distance.
    distance = math.dist([1, 1, r[0, 2]], [r[0, 2], r[0, 2], 1])
    assert found["merges"] == pytest.approx([0, math.sqrt(4 / 3) * distance])


# --- Fig. 5 and the decomposition ---------------------------------------------------------------


def test_single_agents_and_marl_are_compared_at_where_the_single_agents_get() -> None:
    rising = [1.0, 2.0, 3.0, *[4.0] * 7]
    finished = {
        PPO: made_up(PPO, {20: 50, 90: 30, 700: 10}, rising),
        replace(PPO, seed=1): made_up(PPO, {40: 40, 950: 20}, [*rising[:-1], 5.0]),
        replace(PPO, seed=2): made_up(PPO, {10: 60, 60: 45}, [*rising[:-1], 3.0]),
        MARL: made_up(MARL, {5: 40, 30: 9}, [1.0, 4.5, 4.0, 4.0]),
        replace(MARL, seed=1): made_up(MARL, {15: 35}, [1.0, 1.0, 1.0, 4.0]),
        replace(MARL, seed=2): made_up(MARL, {25: 41}, [1.0, 1.0, 3.0, 3.0]),
    }
    (long,), (short,) = make_arenas(finished, LONG), make_arenas(finished, SHORT)
    problem = ["vgg16_l2", "latency", "ppo"]
    never = (math.inf,) * 3
    assert list(fig5.compare(long, short)) == [
        [*problem, target, "marl", value, *slow.row(), *fast.row(), 0]
        for target, value, slow, fast in (
            # MARL's windows are a hundred samples wide too, which is all: 3.375, 1.75 and 2.
            (fig5.CONVERGED, 4.0, Reach((400,) * 3, LONG, 100), Reach(never, SHORT, 100)),
            # After MARL's 100 samples the single agents have 30, 40 and 45.
            (fig5.BEST, 40.0, Reach((90, 40, math.inf), LONG), Reach((5, 15, math.inf), SHORT)),
            # At their end they have 10, 20 and 45.
            (fig5.LAST, 20.0, Reach((700, 950, math.inf), LONG), Reach((30, *never[1:]), SHORT)),
        )
    ]


def test_claims_of_samples_are_judged_by_the_converged_mean_return(tmp_path: Path) -> None:
    single = Run("mobilenetv2_l2", "edp", "ppo", 0, QUICK.single_agent_samples)
    finished = {}
    for seed in range(3):
        slow = replace(single, seed=seed)
        fast = replace(slow, mapper="marl", samples=QUICK.samples)
        finished[slow] = made_up(slow, {1: 50, 16: 40, 200: 30}, [1.0] * 15 + [4.0])
        finished[fast] = made_up(fast, {1: 40, 2: 20}, [1.0] * 8)
        clustered = replace(fast, mapper="marl_clustered")
        finished[clustered] = made_up(clustered, {1: 40}, [4.0] * 8, warm_up=20)
    shown = view(fig5.ITEM, tmp_path, finished)
    # MARL's 128 samples never have the mean return that the single agent has after 256.
    assert shown["steps"] == [("mobilenetv2_l2", "edp", 312.5, "<2x [0, 2]", False)]
    assert shown["better"] == [("mobilenetv2_l2", "edp", 2.56, (1.5, 1.5, 1.5), False)]
    # 241 to 256 samples against 1 to 16 and the warm-up of 20.
    assert shown["charged"].told == "7.11x [6.69, 12.2]"
    assert shown["verdicts"] == {"fewer": False, "charged": None, "final": True}


def test_steps_are_measured_to_the_end_of_the_default_learner(tmp_path: Path) -> None:
    ppo, marl = (replace(each, samples=QUICK.samples) for each in (PPO, MARL))
    finished = {
        replace(ppo, seed=seed): made_up(ppo, {seed + 1: 99, 60 + 10 * seed: end})
        for seed, end in enumerate((30.0, 20.0, 10.0, 40.0))
    }
    finished[marl] = made_up(marl, {3: 31, 8: 30})
    (samples,) = view(decomposition.ITEM, tmp_path, finished)["samples"]
    # Two in the middle end at 20 and 30; three searches have 30, after 60, 70 and 80.
    assert samples == {
        "ppo": Reach((60, 70, 80, math.inf), QUICK.samples),
        "marl": Reach((8,), QUICK.samples),
    }


def test_a_step_saves_mainly_if_it_saves_more_than_all_others_together() -> None:
    # All together save 40 to 48: 7 x 7 is more, 6 x 6 is less.
    steps = [Factor(low, "", low, high) for low, high in ((7, 9), (2, 6), (6, 7))]
    assert [decomposition.mainly(step, Factor(40, "", 40, 48)) for step in steps] == [
        True,
        False,
        None,
    ]


def test_the_papers_agents_have_one_setting() -> None:
    pytest.importorskip("torch", reason="needs the extra rl")
    assert (
        make_mapper(f"marl:agents=0:{decomposition.PLAIN}").config
        == make_mapper("marl_paper").config
    )


# --- Fig. 6 -------------------------------------------------------------------------------------


def test_variants_are_the_settings_they_say_and_come_back_from_their_file() -> None:
    several = fig6.variants([6, 9])
    names = [variant.mapper for variant in several]
    assert names[:2] == ["marl:agents=1", "marl_clustered"]
    assert len({make_mapper(name).config for name in names}) == len(names) == 10
    for variant in several:
        config = make_mapper(variant.mapper).config
        assert config.agents == variant.agents
        assert config.grouping == (variant.grouping or "clustered")
        assert config.measure == (variant.measure or "pearson")
        row = {name: str(value) for name, value in variant._asdict().items()}
        assert Variant.of(row) == variant
    assert len(goal(MARL).problem.space.parameters) == fig6.PARAMETERS


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
    beats = {
        (base, agents): Ratio(1, 50, ratio, ratio - 0.05, ratio + 0.05, 0, 0).better
        for base, each in ((9, nine), (6, six))
        for agents, ratio in each.items()
    }
    assert fig6.optimal(beats) is verdict
    assert fig6.optimal(dict.fromkeys(beats)) is None


def test_mean_returns_are_shares_of_the_best_found() -> None:
    typical = reference(goal(MARL))
    finished = {
        MARL: made_up(MARL, {1: typical / 2}, [0.5, 1.0]),
        replace(MARL, seed=1): made_up(MARL, {1: typical / 4}, [1.5, 4.0]),
    }
    (made,) = make_arenas(finished, SHORT)
    # The best found earns 4, and a resample of two seeds is most often one of them twice.
    mean, low, high = fig6.mean_share([made], "marl", [0, 1])
    np.testing.assert_allclose(mean, [1 / 4, 2.5 / 4])
    np.testing.assert_allclose(low, [0.5 / 4, 1 / 4])
    np.testing.assert_allclose(high, [1.5 / 4, 4 / 4])


def test_costs_are_drawn_by_number_of_agents_and_grouping(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures: list[Figure] = []
    monkeypatch.setattr(results, "save", lambda figure, _, svg: figures.append(figure))
    drawn = Variant(1), Variant(2, "random"), Variant(9, "random"), Variant(0)
    costs = [
        (each, Ratio(1, n, 1 + each.number / n, 0.5, math.inf if each.number == 2 else 20.0, 0, 0))
        for each in drawn
        for n in (10, 20, 30)
    ]
    fig6.draw_costs(costs, tmp_path / "fig6.png")
    panels = figures[0].axes[:2]
    assert [each.get_title("left") for each in panels] == ["after 10 samples", "after 30 samples"]
    for panel, samples in zip(panels, (10, 30), strict=True):
        assert [tick.get_text() for tick in panel.get_xticklabels()] == ["1", "2", "9", "13"]
        bars, labels = panel.get_legend_handles_labels()
        assert labels == ["random", "no grouping"]
        for bar, agents in zip(bars, ((2, 9), (1, 13)), strict=True):
            assert isinstance(bar, ErrorbarContainer)
            heights_drawn = bar.lines[0].get_ydata()
            np.testing.assert_allclose(heights_drawn, [1 + each / samples for each in agents])


# --- Fig. 7 and the overhead --------------------------------------------------------------------


def moves(run: Run, settle: list[int], ends: list[float]) -> Finished:
    """A search of 20 windows whose parameters settle in these, each at such an end."""
    choices = [
        [end if at >= first else 1 - end for first, end in zip(settle, ends, strict=True)]
        for at in range(20)
    ]
    return made_up(run, {1: 9.0}, [1.0] * 20, choices, np.full((20, len(ends)), 0.05).tolist())


@pytest.mark.parametrize("most", [False, True])
def test_only_what_settles_alike_in_both_may_settle_sooner(most: bool, tmp_path: Path) -> None:
    runs = make_folder(fig7.ITEM, tmp_path, replace(QUICK, few_seeds=3)).runs
    count = len(goal(runs[0]).problem.space.parameters)
    alike = count // 2 + 1 if most else 3
    finished = {}
    for run in runs:
        multi = run.mapper.startswith("marl")
        apart = [0.9 if multi else 0.1] * (count - alike)
        finished[run] = moves(run, [0 if multi else 10] * count, [0.1] * alike + apart)
    shown = view(fig7.ITEM, tmp_path, finished)
    assert shown["verdicts"] == {"alike": most, "sooner": True if most else None}
    # A window is a twentieth of 256 samples.
    assert shown["settled"]["marl:patience=0"] == f"{count} of {count} (median: within 12 samples)"


def test_reuse_is_tried_on_all_reporting_layers_with_the_same_parameters(tmp_path: Path) -> None:
    layers = ("vgg16_l2", "bert_base_l4", "mobilenetv2_l3")
    runs = make_folder(overhead.ITEM, tmp_path, replace(QUICK, layers=layers)).runs
    assert {run.layer for run in runs} == {"vgg16_l2", "mobilenetv2_l3"}


@pytest.mark.parametrize(
    ("levels", "size"), [(2, 25_401_600), (3, 128_024_064_000)], ids=["25 M", "128 B"]
)
def test_equation_1_gives_the_papers_numbers(levels: int, size: int) -> None:
    assert equation_1(n=1, d=7, k=0, levels=levels) == size


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 4), st.integers(1, 2))
def test_equation_1_counts_tiles_orders_and_parallel_choices(
    n: int, d: int, k: int, levels: int
) -> None:
    assume(k <= d)
    tiles = sum(1 for _ in product(range(n), repeat=d))
    orders = sum(1 for _ in permutations(range(d)))
    parallel = sum(1 for _ in permutations(range(d), k))
    assert equation_1(n, d, k, levels) == (tiles * orders * parallel) ** levels
