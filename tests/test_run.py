from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from experiments.records import RunWriter, read_run
from odd_mappers import ODD
from run_helpers import FILES, SAMPLES, contents, load, run, trace_rows

import mappers
from experiments.run.__main__ import main
from maestro_env.evaluator import Evaluator
from mappers.base import Mapper, SearchResult


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def impossible(tmp_path: Path) -> str:
    """Hardware no mapping fits on."""
    path = tmp_path / "tiny.yaml"
    path.write_text("num_pes: 16\nl1_bytes: 1\nl2_bytes: 1\n")
    return str(path)


def test_run_leaves_exactly_its_files(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(out) == 0
    assert {path.name for path in out.iterdir()} == FILES
    assert all(path.stat().st_size for path in out.iterdir())
    shown = capsys.readouterr().out
    assert f"plot: {out / 'convergence.png'}" in shown
    assert "times the lower bound" in shown


def test_default_directories_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert main(["--samples=50", "--mapper=random"]) == 0
    layer = "conv:K=4,C=4,Y=8,X=8,R=3,S=3"
    assert main(["--samples=50", "--mapper=random", f"--layer={layer}"]) == 0
    assert {path.name for path in (tmp_path / "runs").iterdir()} == {
        "mobilenetv2_l2-edp-1",
        "mobilenetv2_l2-edp-2",
        "conv-K-4-C-4-Y-8-X-8-R-3-S-3-edp-1",
    }


@pytest.mark.parametrize(
    "flags", [["--no-guard"], ["--energy=csv"], ["--energy=csv", "--objective=latency"]]
)
def test_bounds_are_left_out_where_figures_need_not_be_physical(
    out: Path, flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(out, "--model=maestro", "--mapper=random", *flags) == 0
    summary = load(out / "summary.json")
    assert summary["lower_bound"] is None
    assert summary["mappers"]["random"]["times_lower_bound"] is None
    assert summary["mappers"]["random"]["best"] > 0
    row = next(line for line in capsys.readouterr().out.splitlines() if "random" in line)
    assert row.split()[2] == "-"
    assert "lower bound" not in (out / "convergence.svg").read_text()


def test_bounds_of_a_model_that_needs_no_guard_hold_without_it(out: Path) -> None:
    assert run(out, "--mapper=random", "--no-guard") == 0
    assert load(out / "summary.json")["mappers"]["random"]["times_lower_bound"] > 1


@pytest.mark.parametrize("flags", [[], ["--model=maestro", "--energy=csv"]])
def test_a_run_without_valid_mapping_says_so(
    out: Path, impossible: str, flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(out, f"--hardware={impossible}", "--seeds=2", *flags) == 0
    assert capsys.readouterr().out.count("no valid mapping") == len(mappers.MAPPERS)
    for figures in load(out / "summary.json")["mappers"].values():
        assert figures["best"] is figures["samples_to_best"] is figures["times_lower_bound"] is None
        assert figures["invalid"] == figures["evaluations"]
    assert {path.name for path in out.iterdir()} == {
        name for name in FILES if not name.startswith("best_")
    }


def test_strided_layers_are_warned_of(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ("--layer=resnet18_l0", "--model=maestro", "--mapper=random")
    assert run(out, *flags, samples=50) == 0
    assert "warning: maestro miscounts" in capsys.readouterr().err


# Mappers that fail


@pytest.mark.parametrize("name", ["failing", "greedy", "lazy"])
def test_a_mapper_that_raises_loses_its_own_searches(
    name: str, out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("mappers.MAPPERS", {**mappers.MAPPERS, **ODD})
    flags = [f"--mapper={name},random", "--seeds=2"]
    assert run(out, *flags) == 1
    shown = capsys.readouterr()
    told = [line for line in shown.err.splitlines() if line.startswith("failed: ")]
    errors = [out / f"error-{name}-{seed}.txt" for seed in range(2)]
    for seed, (line, path) in enumerate(zip(told, errors, strict=True)):
        assert line.startswith(f"failed: {name}, seed {seed}: ")
        assert line.endswith(f"; traceback in {path}; --resume runs it again")
        assert path.read_text().startswith("Traceback")
    summary = load(out / "summary.json")
    assert list(summary["mappers"]) == ["random"]
    assert summary["interrupted"] is False

    if name == "failing":
        monkeypatch.setenv("MENDED", "1")
        assert run(out, *flags, "--resume") == 0
        assert {path.name for path in out.iterdir()} == FILES
        assert {each.mapper for each in read_run(out).searches} == {"random", "failing"}


def test_nothing_is_shown_if_every_search_fails(
    out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("mappers.MAPPERS", ODD)
    assert run(out, "--mapper=failing,leaving") == 1
    shown = capsys.readouterr()
    assert shown.out.strip() == ""
    assert shown.err.count("failed: ") == 2
    assert not (out / "convergence.png").exists()
    assert load(out / "summary.json")["interrupted"] is False


def test_a_mapper_that_lacks_seeds_says_so(
    out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("mappers.MAPPERS", ODD)
    assert run(out, "--mapper=moody", "--seeds=6") == 1
    shown = capsys.readouterr()
    found = 6 - shown.err.count("failed: moody")
    assert 0 < found < 6
    assert f"moody ({found} of 6 seeds)" in shown.out
    assert len(load(out / "summary.json")["mappers"]["moody"]["seeds"]) == found


# Interruption


class Stopping(Mapper):
    """Random search that Ctrl-C stops after a while, as often as ``stops`` says."""

    stops: ClassVar[int] = 0

    def search(self, evaluator: Evaluator, budget: int, rng: np.random.Generator) -> SearchResult:
        evaluator.evaluate(evaluator.space.sample(budget // 2, rng))
        if Stopping.stops:
            Stopping.stops -= 1
            raise KeyboardInterrupt
        evaluator.evaluate(evaluator.space.sample(budget - budget // 2, rng))
        return SearchResult(evaluator.best, budget)


@pytest.fixture
def stop(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    registry = {"random": mappers.MAPPERS["random"], "stopping": f"{__name__}:Stopping"}
    monkeypatch.setattr("mappers.MAPPERS", registry)

    def arm(stops: int) -> None:
        monkeypatch.setattr(Stopping, "stops", stops)

    return arm


def test_an_interrupted_run_keeps_its_trace_and_can_be_resumed(
    tmp_path: Path, stop: Callable[[int], None], capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--mapper=random,stopping", "--seeds=2"]
    whole, out = tmp_path / "whole", tmp_path / "in parts"
    assert run(whole, *flags) == 0
    stop(1)
    assert run(out, *flags) == 130
    assert {path.name for path in out.iterdir()} == FILES
    summary = load(out / "summary.json")
    assert summary["interrupted"] is True
    assert [seed["evaluations"] for seed in summary["mappers"]["random"]["seeds"]] == [SAMPLES] * 2
    assert [seed["evaluations"] for seed in summary["mappers"]["stopping"]["seeds"]] == [300]
    assert len(trace_rows(out)) == 1 + 2 * SAMPLES + SAMPLES // 2
    message = capsys.readouterr().err.splitlines()[-1]
    assert str(out) in message
    seconds = [seed["seconds"] for seed in summary["mappers"]["random"]["seeds"]]

    command = message.partition("python -m experiments.run ")[2]
    assert main(shlex.split(command)) == 0
    assert (out / "trace.csv.gz").read_bytes() == (whole / "trace.csv.gz").read_bytes()
    assert (out / "best_cost.json").read_bytes() == (whole / "best_cost.json").read_bytes()
    resumed = load(out / "summary.json")
    assert resumed["interrupted"] is False
    assert [seed["seconds"] for seed in resumed["mappers"]["random"]["seeds"]] == seconds


def test_an_interruption_before_any_sample(
    out: Path, stop: Callable[[int], None], capsys: pytest.CaptureFixture[str]
) -> None:
    stop(1)
    assert run(out, "--mapper=stopping", "--no-guard", samples=1) == 130
    assert load(out / "summary.json")["mappers"] == {}
    capsys.readouterr()
    assert run(out, "--mapper=stopping", "--no-guard", "--resume", samples=1) == 0
    assert len(trace_rows(out)) == 2


def interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("work", ["print_table", "draw", "_write_best"])
def test_an_interruption_while_results_are_written(
    out: Path, work: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--mapper=random", "--seeds=2"]
    with monkeypatch.context() as patches:
        if work == "_write_best":
            patches.setattr(RunWriter, work, interrupted_once(RunWriter._write_best))
        else:
            patches.setattr(f"experiments.run.job.{work}", interrupt)
        assert run(out, *flags) == 130
    message = capsys.readouterr().err.splitlines()[-1]
    assert f"the trace so far is in {out}; continue with: " in message
    assert load(out / "summary.json")["interrupted"] is True
    assert "best_cost.json" in contents(out)
    trace = (out / "trace.csv.gz").read_bytes()

    assert main(shlex.split(message.partition("python -m experiments.run ")[2])) == 0
    assert load(out / "summary.json")["interrupted"] is False
    assert contents(out).keys() == FILES
    assert (out / "trace.csv.gz").read_bytes() == trace


def interrupted_once(method: Callable[..., None]) -> Callable[..., None]:
    calls = iter([interrupt])
    return lambda *arguments: next(calls, method)(*arguments)


# Determinism


def test_same_seed_same_trace(tmp_path: Path) -> None:
    flags = ["--samples=700", "--seed=3"]
    for name, extra in (("a", []), ("b", []), ("threads", ["--threads=2"])):
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
    both = {(each.mapper, each.seed): each for each in read_run(tmp_path / "both").searches}
    (alone,) = read_run(tmp_path / "alone").searches
    assert np.array_equal(both["random", 1].values, alone.values)
    assert len({search.values.tobytes() for search in both.values()}) == 4
