"""Pictures are drawn of whatever was found, and what cannot be drawn loses nothing."""

from __future__ import annotations

import json
import math
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from clustering_helpers import sizes_samples
from commands import optimum, report, run
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from run_helpers import FILES

from clustering import cluster
from experiments.commands.audit import exploitation
from experiments.commands.benchmark.plots import draw_reached
from experiments.commands.benchmark.scores import Scores
from experiments.commands.codesign.designs import Design
from experiments.commands.codesign.plots import draw_front
from experiments.commands.report.directories import read_section
from experiments.commands.sparse.curves import draw_curves
from experiments.pages.charts import charts_of
from experiments.paper import plots
from experiments.paper.items import fig5, fig6, fig7
from experiments.proving.records import ProofState
from experiments.search.cells import Cell, Finished
from experiments.shown.clustering import draw_clustering
from experiments.shown.plots import new_figure, scale_y
from experiments.study import plots as study_plots
from experiments.study.config import StudyConfig
from experiments.study.standings import Contest
from experiments.study.study import Study
from experiments.study.sweep.grid_axes import axes_of
from maestro_env.accelerators.hardware import Hardware
from maestro_env.evaluation.objectives import find_objective
from maestro_env.explanation.cycles import Delay
from maestro_env.explanation.pictures import port_figure, time_figure, traffic_figure
from maestro_env.optimum.known import KnownOptimum
from maestro_env.workloads.finding import find_layer

Draw = Callable[[st.SearchStrategy[Any]], Any]

ODD = ["ga", "_", "$", r"a$\frac{1}$b$_{", "\x1b[31m", "网络 \u202e", "W" * 200, " ", "%s"]
NAMES = st.sampled_from(ODD) | st.text(min_size=1, max_size=200)
# Values that differ by rounding alone are what no axis has room for.
VALUES = st.sampled_from([1797.0, 1797 * (1 + 2**-51), 1e-12, 1e30]) | st.floats(1e-9, 1e25)
ANY = VALUES | st.sampled_from([0.0, math.inf, math.nan])
EDP = find_objective("edp")


def several(draw: Draw, each: st.SearchStrategy[Any], most: int = 20) -> list[Any]:
    """One to so many different ones."""
    found: list[Any] = draw(st.lists(each, min_size=1, max_size=most, unique_by=str))
    return found


def search(draw: Draw, mapper: str, samples: int, seed: int) -> Finished:
    values = sorted(draw(st.lists(VALUES, max_size=min(4, samples))), reverse=True)
    at = np.linspace(1, samples, len(values)).astype(int)
    after = np.full(len(at), math.nan) if draw(st.booleans()) else np.linspace(0, 2, len(at))
    point = (0,) if len(at) else None
    return Finished(
        *(Cell("l", "edp", mapper, seed), samples, 0, 0, 0, at, np.array(values), after, point),
        *(draw(st.sampled_from([0.0, 2.0])), 0.0, {}),
    )


def study(draw: Draw) -> tuple[Study, list[Contest]]:
    """A comparison of made-up searches, whose goal has what pictures show of it."""
    samples, seeds = draw(st.sampled_from([1, 2, 9, 200])), draw(st.integers(1, 3))
    mappers, contests = several(draw, NAMES), []
    for layer in several(draw, NAMES, 2):
        problem = SimpleNamespace(
            layer=find_layer("resnet18_l2"), hardware=SimpleNamespace(name=draw(NAMES))
        )
        bound = draw(st.none() | VALUES)
        goal: Any = SimpleNamespace(problem=problem, objective=EDP, lower_bound=bound)
        found = {each: [search(draw, each, samples, s) for s in range(seeds)] for each in mappers}
        values = [one.values[-1] for of in found.values() for one in of if len(one.at)]
        least = min(values, default=1.0)
        known = KnownOptimum(least, np.zeros(1), least / draw(st.sampled_from([1, 3])), 1.0, 1)
        contests.append(Contest(layer, "edp", goal, found, draw(st.sampled_from([None, known]))))
    return Study(StudyConfig(samples=samples, seeds=seeds), {}, tuple(mappers)), contests


def convergence(draw: Draw) -> Any:
    made, contests = study(draw)
    return study_plots.draw_convergence(made, contests[0])


def profile(draw: Draw) -> Any:
    return study_plots._draw_profile(*study(draw))


def seconds(draw: Draw) -> Any:
    return study_plots._draw_over_time(*study(draw), np.geomspace(1e-3, draw(VALUES), 9))


def proof(draw: Draw) -> Any:
    from experiments.commands.optimum import _draw

    curve = [(float(n), draw(st.none() | ANY), draw(st.none() | ANY)) for n in range(3)]
    problem = SimpleNamespace(layer=draw(NAMES), hardware=SimpleNamespace(name=draw(NAMES)))
    goal: Any = SimpleNamespace(problem=problem, objective=EDP)
    return _draw(goal, ProofState(curve=curve[draw(st.integers(0, 2)) :]))


def front(draw: Draw) -> Any:
    names = several(draw, NAMES)
    sizes = {"num_pes": 4, "l1_bytes": draw(st.integers(1, 9)), "l2_bytes": 64}
    designs = [
        Design("all", Hardware(4, 4, 64, name=name), sizes, *(draw(VALUES) for _ in "ale"))
        for name in names
    ]
    shown = designs[: draw(st.integers(1, len(designs)))]
    return draw_front(designs, shown, shown, axes_of(sizes), draw(NAMES))


def reached(draw: Draw) -> Any:
    counts = (1, 10)[: draw(st.integers(1, 2))]
    ratios = st.floats(1, 1000) | st.just(1.0)
    return draw_reached(
        [
            Scores(name, 1, counts, (), np.full((2, 3, len(counts)), draw(ratios)), np.ones(1), 0)
            for name in several(draw, NAMES)
        ]
    )


def arms(draw: Draw) -> Any:
    curve = [(8, draw(st.sampled_from([0, 7])), draw(ANY))] * draw(st.integers(1, 3))
    panels = {
        name: {key: [curve] for key in several(draw, NAMES)} for name in several(draw, NAMES, 3)
    }
    return draw_curves(panels, "return")


def groups(draw: Draw) -> Any:
    points = np.random.default_rng(0).integers(0, draw(st.sampled_from([2, 99])), size=(50, 5))
    points[:, 1:] = points[:, :1] if draw(st.booleans()) else points[:, 1:]
    return draw_clustering(cluster(sizes_samples(points), 1, fraction=1), draw(NAMES))


def trails(draw: Draw) -> Any:
    trail = np.array([[draw(ANY), draw(ANY)], [draw(ANY), draw(ANY)]])
    return exploitation._draw({key: [trail] for key in several(draw, NAMES, 3)}, draw(NAMES))


def explained(draw: Draw) -> Any:
    values = st.sampled_from([0.0, 1.0, 1e20])
    parts = {"compute": 1.0, **{name: draw(values) for name in ("fill", "drain")}}
    words = np.array([[draw(values) for _ in range(3)] for _ in range(2)])
    mean = draw(VALUES)
    delay = Delay(mean * (1 + 2**-52), mean, mean * (1 - 2**-52))
    told: Any = SimpleNamespace(
        traffic=SimpleNamespace(memories=[draw(NAMES), "L2"], words=words),
        energy=SimpleNamespace(memories=[draw(NAMES), "L2"], accesses=words, macs=draw(values)),
        steps=SimpleNamespace(ingress=delay, compute=delay, egress=delay, steps=1),
        cycles=SimpleNamespace(parts=parts),
    )
    port: Any = SimpleNamespace(cycles=parts, port_cycles={draw(NAMES): draw(values)})
    made = draw(st.sampled_from([(traffic_figure, told), (time_figure, told), (port_figure, port)]))
    return made[0](made[1])


def paper(draw: Draw) -> Any:
    """One of the paper's figures, from rows as files have them."""
    rows = [
        {"layer": "l", "objective": "o", "mapper": name, "agents": str(agents), "multi": name}
        | {name: str(draw(ANY)) for name in ("mean", "low", "high", "mean_x", "spread_x", "share")}
        | {"samples": "100", "warm_up": "7", "grouping": "fixed", "measure": ""}
        for agents, name in enumerate(several(draw, st.sampled_from(["ga", "marl", "a:b=c_d"])), 1)
    ]
    folder: Any = SimpleNamespace(rows=lambda *_, **__: rows, images=Path())
    drawings = (fig5._draw, fig7._draw, lambda _: fig6._draw_shares(rows, Path()))
    drawn: list[Any] = []
    with patch.object(plots, "save", lambda figure, *_, **__: drawn.append(figure)):
        draw(st.sampled_from(drawings))(folder)
    return drawn[0]


DRAWINGS = [convergence, profile, seconds, proof, front, reached, arms, groups, trails, explained]
every_drawing = pytest.mark.parametrize("drawing", [*DRAWINGS, paper])
# To draw hundreds of smaller ones would take minutes.
UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)
# Of glyphs that the font lacks, and of names that leave no room.
unwarned = pytest.mark.filterwarnings("ignore")


@unwarned
@every_drawing
@settings(max_examples=2, phases=UNSHRUNK)
@given(data=st.data())
def test_whatever_was_found_is_drawn(drawing: Callable[[Draw], Any], data: st.DataObject) -> None:
    drawing(data.draw).draw_without_rendering()


@pytest.mark.slow
@unwarned
@every_drawing
@settings(max_examples=200, phases=UNSHRUNK)
@given(data=st.data())
def test_200_results_are_drawn(drawing: Callable[[Draw], Any], data: st.DataObject) -> None:
    drawing(data.draw).draw_without_rendering()


def test_values_that_are_equal_but_for_rounding_get_room() -> None:
    axes = (figure := new_figure((4, 4))).subplots()
    axes.plot([1, 2], [1797.0, 1797 * (1 + 2**-51)])
    scale_y(axes)
    low, high = axes.get_ylim()
    assert low < 1700 < 1900 < high
    figure.draw_without_rendering()


GEMM = ["--layer=gemm:M=8,N=8,K=8", "--hardware=edge"]


@pytest.mark.parametrize("error", [StopIteration, MemoryError, ValueError("a\n\x1b[8mb")])
def test_a_drawing_that_fails_loses_nothing(
    error: Exception, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    with patch("matplotlib.figure.Figure.savefig", side_effect=error):
        assert run([*GEMM, "--mapper=random", "--samples=9", f"--out={out}"]) == 0
    shown = capsys.readouterr()
    assert "why it costs this: " in shown.out
    assert "plot: " not in shown.out
    told = shown.err.splitlines()[-1]
    assert re.fullmatch(r"the plot could not be drawn: \w+\(.*; `.*` draws it again", told)
    assert {path.name for path in out.iterdir()} == FILES - {"convergence.png"}
    pytest.importorskip("vl_convert")
    assert report(shlex.split(told.split("`")[1])[2:]) == 0
    assert "Convergence: gemm" in (out / "report.html").read_text()


def test_a_picture_that_cannot_be_written_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert optimum([*GEMM, f"--out={tmp_path}/out"]) == 0
    (tmp_path / "out" / "optimum.png").mkdir()
    assert optimum([*GEMM, "--plot", "--resume", f"--out={tmp_path}/out"]) == 2
    assert "optimum.png: it is no regular file" in capsys.readouterr().err


def test_an_optimum_is_drawn_on_request_alone_and_by_report(tmp_path: Path) -> None:
    """In a process of its own, which shows what is imported."""
    script = f"""
import sys
from experiments.shell import cli
assert cli.main("optimum", {[*GEMM, f"--out={tmp_path}/out"]!r}) == 0
print(*{{module.partition(".")[0] for module in sys.modules}})
"""
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = set(ended.stdout.splitlines()[-1].split())
    slow = {"matplotlib", "scipy", "sklearn", "jinja2", "torch", "pandas", "yaml", "PIL"}
    assert loaded & {"numpy", "rich"}
    assert not loaded & slow
    assert not [*tmp_path.glob("out/*.png")]
    (section,) = [read_section(tmp_path / "out")]
    kept = json.loads((tmp_path / "out" / "optimum.json").read_text())["found"]
    (found,) = section.found
    assert (found.best, found.bound, found.gap) == (kept["best"], kept["bound"], 0)
    best, bound = found.curves
    assert [best.improvements[-1][1], bound.improvements[-1][1]] == [kept["best"], kept["bound"]]
    (chart,) = [each for each in charts_of(section) if "Convergence" in each.title]
    assert chart.spec["encoding"]["x"]["title"] == "seconds"
