"""Pictures are drawn of whatever was found, and what cannot be drawn loses nothing."""

from __future__ import annotations

import json
import math
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace as Made
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from clustering_helpers import sizes_samples
from commands import optimum, report, run
from gate import few
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from run_helpers import FILES

from maestro_env.accelerators.hardware import Hardware
from maestro_env.clustering import cluster
from maestro_env.evaluation.objectives import find_objective
from maestro_env.experiments.commands import audit
from maestro_env.experiments.commands import optimum as optimum_command
from maestro_env.experiments.commands.benchmark.scores import Scores, draw_reached
from maestro_env.experiments.commands.codesign.designs import Design
from maestro_env.experiments.commands.codesign.report import draw_front
from maestro_env.experiments.commands.report import read_section
from maestro_env.experiments.pages.charts import charts_of
from maestro_env.experiments.proving.proof import ProofState
from maestro_env.experiments.search.cells import Cell, Finished
from maestro_env.experiments.shown.clustering import draw_clustering
from maestro_env.experiments.study import plots as of_study
from maestro_env.experiments.study.standings import Contest
from maestro_env.experiments.study.study import Study, StudyConfig
from maestro_env.experiments.study.sweep.fronts import axes_of
from maestro_env.explanation import rendering
from maestro_env.explanation.bottleneck import Delay
from maestro_env.optimum.known import KnownOptimum
from maestro_env.workloads.finding import find_layer

Draw = Callable[[st.SearchStrategy[Any]], Any]
Drawing = Callable[[Draw], Any]
GEMM = ["--layer=gemm:M=8,N=8,K=8", "--hardware=edge"]
ODD = ["ga", "_", "$", r"a$\frac{1}$b$_{", "\x1b[31m", "网络 \u202e", "W" * 200, " ", "%s"]
NAMES = st.sampled_from(ODD) | st.text(min_size=1, max_size=200)
# Two that differ by rounding alone, which no axis has room for.
VALUES = st.sampled_from([1797.0, 1797 * (1 + 2**-51), 1e-12, 1e30]) | st.floats(1e-9, 1e25)
ANY = VALUES | st.sampled_from([0.0, math.inf, math.nan])
NO_PROBLEM = Made(layer=find_layer("resnet18_l2"), hardware=Made(name=ODD[3]))


def several(draw: Draw, each: st.SearchStrategy[Any], most: int = 20) -> list[Any]:
    return list(draw(st.lists(each, min_size=1, max_size=most, unique_by=str)))


def study(draw: Draw) -> tuple[Any, Any]:
    """A comparison of made-up searches, whose goals have what pictures show of them."""
    samples, seeds, mappers = draw(st.sampled_from([1, 9])), draw(st.integers(1, 3)), []
    mappers, contests = several(draw, NAMES), []

    def search(mapper: str, seed: int) -> Finished:
        values = sorted(draw(st.lists(VALUES, max_size=min(4, samples))), reverse=True)
        at = np.linspace(1, samples, len(values)).astype(int)
        after = np.full(len(at), draw(st.sampled_from([math.nan, 1.0])))
        found = (np.array(values), after, (0,) if len(at) else None, draw(ANY), 0.0, {})
        return Finished(Cell("l", "edp", mapper, seed), samples, 0, 0, 0, at, *found)

    for layer in several(draw, NAMES, 2):
        goal: Any = Made(
            problem=NO_PROBLEM,
            objective=find_objective("edp"),
            lower_bound=draw(st.none() | VALUES),
        )
        found = {each: [search(each, seed) for seed in range(seeds)] for each in mappers}
        least = min((one.best or 1.0 for of in found.values() for one in of), default=1.0)
        known = KnownOptimum(least, np.zeros(1), least / draw(st.sampled_from([1, 3])), 1.0, 1)
        contests.append(Contest(layer, "edp", goal, found, draw(st.sampled_from([None, known]))))
    return Study(StudyConfig(samples=samples, seeds=seeds), {}, tuple(mappers)), contests


def convergence(draw: Draw) -> Any:
    made, contests = study(draw)
    return of_study.draw_convergence(made, contests[0])


def profile(draw: Draw) -> Any:
    return of_study._draw_profile(*study(draw))


def seconds(draw: Draw) -> Any:
    return of_study._draw_over_time(*study(draw), np.geomspace(1e-3, draw(VALUES), 9))


def proof(draw: Draw) -> Any:
    curve = [(float(at), *(draw(st.none() | ANY) for _ in "ab")) for at in several(draw, ANY, 3)]
    goal: Any = Made(problem=NO_PROBLEM, objective=find_objective("edp"))
    return optimum_command._draw(goal, ProofState(curve=curve))


def front(draw: Draw) -> Any:
    sizes = {"num_pes": 4, "l1_bytes": draw(st.integers(1, 9)), "l2_bytes": 64}
    designs = [
        Design("all", Hardware(4, 4, 64, name=name), sizes, *(draw(VALUES) for _ in "ale"))
        for name in several(draw, NAMES)
    ]
    return draw_front(designs, designs[:3], designs[:3], axes_of(sizes), draw(NAMES))


def reached(draw: Draw) -> Any:
    counts = (1, 10)[: draw(st.integers(1, 2))]
    ratios = np.full((2, 3, len(counts)), draw(st.floats(1, 1000)))
    names = several(draw, NAMES)
    return draw_reached([Scores(name, 1, counts, (), ratios, np.ones(1), 0) for name in names])


def groups(draw: Draw) -> Any:
    points = np.random.default_rng(0).integers(0, draw(st.sampled_from([2, 99])), size=(50, 5))
    points[:, draw(st.integers(1, 4)) :] = points[:, :1]
    return draw_clustering(cluster(sizes_samples(points), 1, fraction=1), draw(NAMES))


def trails(draw: Draw) -> Any:
    trail = np.array([[draw(ANY), draw(ANY)], [draw(ANY), draw(ANY)]])
    return audit._draw({key: [trail] for key in several(draw, NAMES, 3)}, draw(NAMES))


def explained(draw: Draw) -> Any:
    values, mean = st.sampled_from([0.0, 1.0, 1e20]), draw(VALUES)
    words = np.array([[draw(values) for _ in range(3)] for _ in range(2)])
    parts = {"compute": 1.0, "fill": draw(values)}
    delay = Delay(mean * (1 + 2**-52), mean, mean * (1 - 2**-52))
    told: Any = Made(
        traffic=Made(memories=[draw(NAMES), "L2"], words=words),
        energy=Made(
            memories=[draw(NAMES), "L2"], accesses=words, macs=draw(values), leakage=draw(values)
        ),
        steps=Made(ingress=delay, compute=delay, egress=delay, steps=1),
        cycles=Made(parts=parts),
    )
    port: Any = Made(cycles=parts, port_cycles={draw(NAMES): draw(values)})
    every = rendering.traffic_figure, rendering.time_figure, rendering.port_figure
    which = draw(st.integers(0, 2))
    return every[which]((told, told, port)[which])


DRAWINGS = [convergence, profile, seconds, proof, front, reached, groups, trails, explained]


def drawn_of(count: int, drawings: Sequence[Drawing]) -> Callable[[Any], Any]:
    """What makes a test of so many results of every drawing; to shrink one takes minutes."""
    phases = (Phase.explicit, Phase.reuse, Phase.generate)

    def decorate(test: Any) -> Any:
        made = settings(max_examples=count, phases=phases)(given(data=st.data())(test))
        # Glyphs that the font lacks, and names that leave no room.
        made = pytest.mark.filterwarnings("ignore")(made)
        return pytest.mark.parametrize("drawing", drawings)(made)

    return decorate


@drawn_of(1, few(DRAWINGS, 3))
def test_whatever_was_found_is_drawn(drawing: Any, data: Any) -> None:
    drawing(data.draw).draw_without_rendering()


@pytest.mark.slow
@drawn_of(200, DRAWINGS)
def test_two_hundred_results_are_drawn(drawing: Any, data: Any) -> None:
    drawing(data.draw).draw_without_rendering()


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


def test_an_optimum_is_drawn_on_request_alone_and_by_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a process of its own, which shows what is imported."""
    flags, out = [*GEMM, f"--out={tmp_path}/out"], tmp_path / "out"
    script = (
        f"import sys; from maestro_env.experiments.shell import cli; cli.main('optimum', {flags}); "
    )
    script += "print(*{module.partition('.')[0] for module in sys.modules})"
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    slow = {"matplotlib", "scipy", "sklearn", "jinja2", "torch", "pandas", "yaml", "PIL"}
    assert slow.isdisjoint(ended.stdout.splitlines()[-1].split())
    section = read_section(out)
    kept = json.loads((out / "optimum.json").read_text())["found"]
    ends = [curve.improvements[-1][1] for curve in section.found[0].curves]
    assert ends == [kept["best"], kept["bound"]]
    (chart,) = [each for each in charts_of(section) if "Convergence" in each.title]
    assert chart.spec["encoding"]["x"]["title"] == "seconds"
    # What cannot be written is an error, as ever.
    (out / "optimum.png").mkdir()
    assert optimum([*flags, "--plot", "--resume"]) == 2
    assert "optimum.png: it is no regular file" in capsys.readouterr().err
