"""What ``maestro-env run`` runs, writes and shows, and what an interruption leaves."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from commands import run as main
from gate import few
from odd_mappers import ODD
from run_helpers import FILES, LAYER, SAMPLES, load, run, trace_rows

from maestro_env import mappers
from maestro_env.accelerators.finding import find_hardware, known_hardware
from maestro_env.accelerators.hardware import UNLIMITED, Hardware
from maestro_env.base.real_units import RealFigures
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.problem import Problem
from maestro_env.experiments.search.printed_result import take
from maestro_env.experiments.shown.statistics import iqm
from maestro_env.mappers.base import Mapper
from maestro_env.mapspace.mapping import Mapping
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.finding import find_layer


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, rendering: Any) -> Path:
    """A run that ended, to be read."""
    out = tmp_path_factory.mktemp("run") / "out"
    with rendering():
        assert run(out, "--layer=resnet18_l2", "--seeds=5", "--seed=3", "--svg") == 0
    return out


def test_a_run_leaves_exactly_its_files(finished: Path) -> None:
    assert {path.name for path in finished.iterdir()} == FILES | {"convergence.svg"}
    assert all(path.stat().st_size for path in finished.iterdir())


def test_trace_and_summary_agree(finished: Path) -> None:
    header, *rows = trace_rows(finished)
    assert header == ["mapper", "seed", "evaluation", "objective", "best", "status"]
    summary = load(finished / "summary.json")
    assert list(summary["mappers"]) == ["random", "ga"]
    assert summary["interrupted"] is False
    assert len(rows) == 2 * 5 * SAMPLES
    for mapper, figures in summary["mappers"].items():
        assert [entry["seed"] for entry in figures["seeds"]] == [3, 4, 5, 6, 7]
        for entry in figures["seeds"]:
            mine = [row for row in rows if row[:2] == [mapper, str(entry["seed"])]]
            objective = np.array([float(row[3]) for row in mine])
            valid = np.array([row[5] == "ok" for row in mine])
            assert [int(row[2]) for row in mine] == list(range(1, SAMPLES + 1))
            assert [float(row[4]) for row in mine] == np.minimum.accumulate(objective).tolist()
            assert np.array_equal(np.isfinite(objective), valid)
            assert entry["best"] == objective.min()
            assert entry["samples_to_best"] == objective.argmin() + 1
            assert entry["invalid"] == np.count_nonzero(~valid)
            assert entry["times_lower_bound"] == entry["best"] / summary["lower_bound"] >= 1
            assert entry["regret"] == entry["best"] / summary["optimum"] - 1 >= 0
        for name in ("best", "times_lower_bound", "samples_to_best", "invalid", "seconds"):
            assert figures[name] == iqm(np.array([entry[name] for entry in figures["seeds"]]))


def test_best_mapping_scores_the_same_when_evaluated_from_its_files(finished: Path) -> None:
    best = load(finished / "best_cost.json")
    problem = Problem(MapSpace(find_layer("resnet18_l2"), find_hardware("paper")))
    mapping = Mapping.from_json((finished / "best_mapping.json").read_text())
    assert Mapping.from_m((finished / "best_mapping.m").read_text()) == mapping
    assert problem.space.decode(np.array(best["best_point"], dtype=np.int32)) == mapping
    assert (finished / "best_mapping.txt").read_text() == f"{mapping}\n"
    cost, status = problem.evaluate_mapping(mapping)
    assert status == "ok"
    assert cost is not None
    assert json.loads(json.dumps(cost.as_dict())) == best["cost"]
    assert cost.latency_cycles * cost.energy_nj == best["objective"]
    searches = [
        (mapper, entry)
        for mapper, figures in load(finished / "summary.json")["mappers"].items()
        for entry in figures["seeds"]
    ]
    mapper, entry = min(searches, key=lambda each: each[1]["best"])
    assert (best["mapper"], best["seed"]) == (mapper, entry["seed"])
    assert (best["objective"], best["evaluation"]) == (entry["best"], entry["samples_to_best"])


def test_the_picture_shows_the_run(finished: Path) -> None:
    svg = (finished / "convergence.svg").read_text()
    for text in (
        "optimum (proven)",
        "random",
        "ga",
        "resnet18_l2 on unlimited: EDP",
        "samples",
    ):
        assert f"<!-- {text} -->" in svg


def test_default_directories_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for layer in ("mobilenetv2_l2", "mobilenetv2_l2", "conv:K=4,C=4,Y=8,X=8,R=3,S=3"):
        assert main(["--samples=50", "--mapper=random", f"--layer={layer}"]) == 0
    assert {path.name for path in (tmp_path / "runs").iterdir()} == {
        "mobilenetv2_l2-edp-1",
        "mobilenetv2_l2-edp-2",
        "conv-K-4-C-4-Y-8-X-8-R-3-S-3-edp-1",
    }


@pytest.mark.usefixtures("rendered")
@pytest.mark.parametrize(
    ("flags", "bounded"),
    few(
        [
            (["--model=maestro", "--no-guard"], False),
            (["--no-guard"], True),
            (["--model=maestro", "--energy=csv", "--objective=latency"], False),
        ],
        2,
    ),
)
def test_bounds_are_left_out_where_figures_need_not_be_physical(
    out: Path, flags: list[str], bounded: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(out, "--mapper=random", "--svg", *flags) == 0
    summary = load(out / "summary.json")
    times = summary["mappers"]["random"]["times_lower_bound"]
    assert (summary["lower_bound"] is None) == (times is None) == (not bounded)
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("random"))
    assert (row.split()[2] == "-") == (not bounded)
    drawn = "optimum (proven)" if bounded else "lower bound"
    assert (drawn in (out / "convergence.svg").read_text()) == bounded


@pytest.mark.parametrize("flags", few([[], ["--model=maestro", "--energy=csv"]]))
def test_a_run_without_valid_mapping_says_so(
    tmp_path: Path, out: Path, flags: list[str], capsys: pytest.CaptureFixture[str], rendered: None
) -> None:
    impossible = tmp_path / "tiny.yaml"
    impossible.write_text("num_pes: 16\nl1_bytes: 1\nl2_bytes: 1\n")
    assert run(out, f"--hardware={impossible}", "--seeds=2", "--svg", *flags) == 0
    told = "no valid mapping was found: no mapping fits: L1 must hold "
    assert told in capsys.readouterr().out
    assert "<!-- no valid mapping -->" in (out / "convergence.svg").read_text()
    for figures in load(out / "summary.json")["mappers"].values():
        assert figures["best"] is figures["samples_to_best"] is figures["times_lower_bound"] is None
        assert figures["invalid"] == figures["evaluations"]
    assert {path.name for path in out.iterdir()} == {
        name for name in FILES | {"convergence.svg"} if not name.startswith("best_")
    }


def test_strided_layers_are_warned_of(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(out, "--layer=resnet18_l0", "--model=maestro", "--mapper=random", samples=50) == 0
    assert "warning: maestro miscounts" in capsys.readouterr().err


def test_a_mapper_that_lacks_seeds_says_so(
    out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("maestro_env.mappers.MAPPERS", {**mappers.MAPPERS, **ODD})
    assert run(out, "--mapper=moody", "--seeds=6") == 1
    shown = capsys.readouterr()
    found = 6 - shown.err.count("failed: moody")
    assert 0 < found < 6
    assert f"moody ({found} of 6 seeds)" in shown.out
    assert len(load(out / "summary.json")["mappers"]["moody"]["seeds"]) == found


def test_a_search_that_finds_nothing_leaves_no_mean(tmp_path: Path, out: Path) -> None:
    """Searches of one sample on a machine that not all mappings fit on."""
    small = tmp_path / "small.yaml"
    small.write_text("num_pes: 64\nl1_bytes: 1000000\nl2_bytes: 100000\n")
    flags = (f"--hardware={small}", "--mapper=random", "--seeds=12")
    assert run(out, *flags, samples=1) == 0
    figures = load(out / "summary.json")["mappers"]["random"]
    found = [entry["best"] for entry in figures["seeds"] if entry["best"] is not None]
    assert 0 < len(found) < 9
    assert figures["best"] is None
    assert load(out / "best_cost.json")["objective"] == min(found)


# --- Interruption -------------------------------------------------------------------------------


class Stopping(Mapper):
    """Random search that Ctrl-C stops after a while, as often as ``stops`` says."""

    stops: ClassVar[int] = 0

    def search(self, evaluator: Evaluator, budget: int, rng: np.random.Generator) -> None:
        evaluator.evaluate(evaluator.space.sample(budget // 2, rng))
        if Stopping.stops:
            Stopping.stops -= 1
            raise KeyboardInterrupt
        evaluator.evaluate(evaluator.space.sample(budget - budget // 2, rng))


@pytest.fixture
def stop(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    registry = {"random": mappers.MAPPERS["random"], "stopping": f"{__name__}:Stopping"}
    monkeypatch.setattr("maestro_env.mappers.MAPPERS", registry)

    def arm(stops: int) -> None:
        monkeypatch.setattr(Stopping, "stops", stops)

    return arm


def test_an_interrupted_run_tells_what_is_finished(out: Path, stop: Callable[[int], None]) -> None:
    stop(1)
    assert run(out, "--mapper=random,stopping", "--seeds=2") == 130
    summary = load(out / "summary.json")
    assert summary["interrupted"] is True
    assert [entry["seed"] for entry in summary["mappers"]["random"]["seeds"]] == [0]
    assert len(trace_rows(out)) == 1 + SAMPLES


def test_an_interruption_before_any_search_has_ended(
    out: Path, stop: Callable[[int], None]
) -> None:
    stop(1)
    assert run(out, "--mapper=stopping", "--no-guard", samples=1) == 130
    assert {path.name for path in out.iterdir()} == {"cells", "config.json"}
    assert run(out, "--mapper=stopping", "--no-guard", "--resume", samples=1) == 0
    assert len(trace_rows(out)) == 2


@pytest.mark.parametrize("work", ["join_traces", "draw_convergence", "print_tables"])
def test_an_interruption_while_results_are_written(
    out: Path, work: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patches:
        patches.setattr(f"maestro_env.experiments.commands.run.{work}", interrupt)
        assert run(out) == 130
    message = capsys.readouterr().err.splitlines()[-1]
    assert main(shlex.split(message.partition("maestro-env run ")[2])) == 0
    assert {path.name for path in out.iterdir()} == FILES
    assert load(out / "summary.json")["interrupted"] is False


def test_a_run_can_be_extended_but_keeps_its_problem_and_its_searches(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(out) == 0
    records = {path: path.read_bytes() for path in out.glob("cells/*/*/*/*.json")}
    assert len(records) == 2
    assert run(out, "--mapper=ga,random", "--seeds=2", "--resume") == 0
    assert {path: path.read_bytes() for path in records} == records
    assert len(load(out / "summary.json")["mappers"]["ga"]["seeds"]) == 2
    capsys.readouterr()
    for other, message in (
        ("--objective=latency", "problem objective = 'edp', asked for 'latency'"),
        ("--mapper=ga", "2 searches that are not asked for, such as "),
    ):
        assert run(out, "--seeds=2", "--resume", other) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert message in line


# --- Determinism --------------------------------------------------------------------------------


def test_same_seed_same_trace(tmp_path: Path) -> None:
    flags = ["--samples=100", "--seed=3", f"--layer={LAYER}", "--mapper=random,ga,gamma"]
    for name, extra in (("a", []), ("threads", ["--threads=2"]), ("jobs", ["--jobs=2"])):
        assert main([*flags, f"--out={tmp_path / name}", *extra]) == 0
    fresh = [sys.executable, "-m", "experiments.run", *flags, f"--out={tmp_path / 'fresh'}"]
    subprocess.run(fresh, capture_output=True, check=True)
    traces = {path.name: (path / "trace.csv.gz").read_bytes() for path in tmp_path.iterdir()}
    assert len(traces) == 4
    assert len(set(traces.values())) == 1


def test_streams_differ_by_seed_and_mapper_but_not_by_company(
    tmp_path: Path, stop: Callable[[int], None]
) -> None:
    stop(0)
    run(tmp_path / "both", "--mapper=stopping,random", "--seeds=2", samples=40)
    run(tmp_path / "alone", "--mapper=random", "--seed=1", samples=40)
    both = searches(tmp_path / "both")
    assert both["random", "1"] == searches(tmp_path / "alone")["random", "1"]
    assert len(set(both.values())) == 4


def searches(out: Path) -> dict[tuple[str, str], tuple[str, ...]]:
    """Values by mapper and seed."""
    _, *rows = trace_rows(out)
    keys = {(row[0], row[1]) for row in rows}
    return {key: tuple(row[3] for row in rows if (row[0], row[1]) == key) for key in keys}


@pytest.mark.parametrize("hardware", known_hardware().values(), ids=lambda each: each.name)
def test_what_a_mapping_takes_fits_80_columns(hardware: Hardware) -> None:
    taken = (123_456_789.0, 123_456_789.0)
    moved = {"main memory": 123_456_789.0}
    real = RealFigures.of(*taken, 123_456_789, hardware.clock_mhz, moved)
    lines = list(take(*taken, 0.999, hardware, real))
    assert max(map(len, lines)) <= 80
    assert any("inferences/s" in line for line in lines) == (hardware.clock_mhz is not None)
    (limits,) = (line for line in lines if line.startswith(f"{hardware.num_pes:,} PEs"))
    for limit in (hardware.l1_bytes, hardware.l2_bytes, hardware.noc_bw, hardware.offchip_bw):
        assert (f" {limit:,}" in limits) == (limit < UNLIMITED)
