"""What Figs. 6 and 7 and the overhead compute, against searches that were made up."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from paper_helpers import MARL, SHORT, made_up, places_in

from experiments.cells import Finished
from experiments.paper import fig6_plot
from experiments.paper.arena import make_arenas
from experiments.paper.fig6 import mean_share
from experiments.paper.fig6_section import optimal
from experiments.paper.fig7 import Fig7
from experiments.paper.item import QUICK, Places, Run
from experiments.paper.overhead import Overhead
from experiments.paper.overhead_section import mean_interval, total
from experiments.paper.ratio_rows import RatioRow, ratio_rows, tally
from experiments.paper.reach import Reach
from experiments.paper.searches import goal
from experiments.paper.variants import PARAMETERS, Variant, duels, rivals, variants
from experiments.windows import reference
from mappers import make_mapper

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
    # The best known earns 4, and a resample of two seeds is most often one of them twice.
    mean, low, high = mean_share([arena], "marl", [0, 1])
    np.testing.assert_allclose(mean, [1 / 4, 2.5 / 4])
    np.testing.assert_allclose(low, [0.5 / 4, 1 / 4])
    np.testing.assert_allclose(high, [1.5 / 4, 4 / 4])
    np.testing.assert_allclose(mean_share([arena, arena], "marl", [1])[0], [2.5 / 4])


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


def test_an_agent_per_parameter_is_as_many_as_the_map_space_has() -> None:
    assert len(goal(MARL).problem.space.parameters) == PARAMETERS


def test_costs_are_drawn_by_number_of_agents_and_grouping(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures: list[Figure] = []
    monkeypatch.setattr(fig6_plot, "save", lambda figure, _: figures.append(figure))
    every = variants([2, 9])
    ratios = {
        variant: {n: RatioRow(1, n, 1 + at / n, 0.5, 2.0 + at, 0, 0) for n in (10, 20, 30)}
        for at, variant in enumerate(every)
    }
    fig6_plot.draw_costs(ratios, tmp_path / "fig6.png")
    panels = figures[0].axes
    assert [panel.get_title("left") for panel in panels] == [
        "after 10 samples",
        "after 30 samples",
    ]
    for panel, samples in zip(panels, (10, 30), strict=True):
        assert [tick.get_text() for tick in panel.get_xticklabels()] == ["1", "2", "9", "13"]
        bars, labels = panel.get_legend_handles_labels()
        assert labels == [
            "clustered by pearson",
            "clustered by interaction",
            "reversed by pearson",
            "random",
            "no grouping",
        ]
        points = {}
        for bar, label in zip(bars, labels, strict=True):
            assert isinstance(bar, ErrorbarContainer)
            line, _, (intervals,) = bar.lines
            for x, y, ends in zip(*line.get_data(), intervals.get_segments(), strict=True):
                points[label, round(x)] = (y, *ends[:, 1])
        for at, variant in enumerate(every):
            name = " by ".join(filter(None, (variant.grouping, variant.measure))) or "no grouping"
            place = [1, 2, 9, 0].index(variant.agents)
            np.testing.assert_allclose(points[name, place], (1 + at / samples, 0.5, 2 + at))
        assert len(points) == len(every)


def test_pictures_are_drawn_of_open_intervals(tmp_path: Path) -> None:
    rows = [
        RatioRow(1, 20, 0.9, 0.8, math.inf, 0, 0),
        RatioRow(1, 20, 0.9, math.nan, math.nan, 0, 0),
        RatioRow(1, 20, math.nan, math.nan, math.nan, 1, 0),
    ]
    path = tmp_path / "fig6.png"
    ratios = {variant: {20: row} for variant, row in zip(variants([2]), rows, strict=False)}
    fig6_plot.draw_costs(ratios, path)
    assert path.exists()


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


def test_what_settles_in_the_first_window_does_so_within_it(places: Places) -> None:
    runs = list(Fig7().runs(replace(QUICK, few_seeds=3)))
    count = len(goal(runs[0]).problem.space.parameters)
    at = {run: 0 if run.mapper.startswith("marl") else 1 for run in runs}
    Fig7().write({run: moves(run, [at[run]] * count, [0.1] * count) for run in runs}, QUICK, places)
    section = Fig7().section(places)
    # A window is a twentieth of 512 samples.
    assert section.body.count("| 51 (3/3) | 0.10 | <=25 (3/3) | 0.10 |") == count
    assert f"`marl:patience=0` settles {count} of {count}, within 25 samples" in str(section.claims)
    assert f"`ppo` settles {count} of {count}, after 51 samples" in str(section.claims)


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
