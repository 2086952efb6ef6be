from __future__ import annotations

import gzip
import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import mappers
from experiments import bench, cli
from experiments.config import RunConfig, resolve
from experiments.files import RecordError, replacing
from experiments.plots import draw
from experiments.records import read_run
from experiments.run import main
from experiments.searches import Search, summarise
from experiments.stats import iqm
from experiments.tables import print_table, summary_table
from maestro_env import models
from maestro_env.evaluator import Evaluator
from maestro_env.hardware import find_hardware
from maestro_env.map_space import MapSpace
from maestro_env.mapping import Mapping
from maestro_env.problem import Problem
from maestro_env.workloads import find_layer
from mappers.base import Mapper, SearchResult

FILES = {
    "best_cost.json",
    "best_mapping.json",
    "best_mapping.m",
    "best_mapping.txt",
    "config.json",
    "convergence.png",
    "convergence.svg",
    "summary.json",
    "trace.csv.gz",
    "versions.json",
}
SAMPLES = 600


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def impossible(tmp_path: Path) -> str:
    """Hardware no mapping fits on."""
    path = tmp_path / "tiny.yaml"
    path.write_text("num_pes: 16\nl1_bytes: 1\nl2_bytes: 1\n")
    return str(path)


def run(out: Path, *flags: str, samples: int = SAMPLES) -> int:
    return main([f"--out={out}", f"--samples={samples}", *flags])


def load(path: Path) -> Any:
    return json.loads(path.read_text())


def trace_rows(out: Path) -> list[list[str]]:
    text = gzip.decompress((out / "trace.csv.gz").read_bytes()).decode()
    return [line.split(",") for line in text.splitlines()]


# What a run leaves behind


def test_run_leaves_exactly_its_files(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(out) == 0
    assert {path.name for path in out.iterdir()} == FILES
    assert all(path.stat().st_size for path in out.iterdir())
    shown = capsys.readouterr().out
    assert f"plot: {out / 'convergence.png'}" in shown
    assert "times the lower bound" in shown


def test_trace_and_summary_agree(out: Path) -> None:
    run(out)
    header, *rows = trace_rows(out)
    assert header == ["mapper", "seed", "evaluation", "objective", "best", "status"]
    summary = load(out / "summary.json")
    assert list(summary["mappers"]) == list(mappers.MAPPERS)
    assert summary["interrupted"] is False
    for mapper, figures in summary["mappers"].items():
        mine = [row for row in rows if row[0] == mapper]
        objective = np.array([float(row[3]) for row in mine])
        valid = np.array([row[5] == "ok" for row in mine])
        assert [int(row[2]) for row in mine] == list(range(1, SAMPLES + 1))
        assert [float(row[4]) for row in mine] == np.minimum.accumulate(objective).tolist()
        assert np.array_equal(np.isfinite(objective), valid)
        assert figures["best"] == objective.min()
        assert figures["samples_to_best"] == objective.argmin() + 1
        assert figures["valid_fraction"] == valid.mean()
        assert figures["times_lower_bound"] == figures["best"] / summary["lower_bound"] >= 1
        assert figures["seconds"] > 0


def test_best_mapping_scores_the_same_when_evaluated_from_its_files(out: Path) -> None:
    run(out, "--layer=resnet18_l2")
    best = load(out / "best_cost.json")
    problem = Problem(MapSpace(find_layer("resnet18_l2"), find_hardware("paper")))
    mapping = Mapping.from_json((out / "best_mapping.json").read_text())
    assert Mapping.from_m((out / "best_mapping.m").read_text()) == mapping
    assert problem.space.decode(np.array(best["best_point"], dtype=np.int32)) == mapping
    assert (out / "best_mapping.txt").read_text() == f"{mapping}\n"
    cost, status = problem.evaluate_mapping(mapping)
    assert status == "ok"
    assert cost is not None
    assert cost.as_dict() == best["cost"]
    everyone = load(out / "summary.json")["mappers"]
    assert cost.latency_cycles * cost.energy_nj == best["objective"]
    assert best["objective"] == min(figures["best"] for figures in everyone.values())
    assert best["objective"] == everyone[best["mapper"]]["best"]
    assert best["evaluation"] == everyone[best["mapper"]]["samples_to_best"]


def test_config_is_resolved(out: Path) -> None:
    run(out, "--seeds=2", "--seed=5", "--mapper=ga,random,ga")
    config = load(out / "config.json")
    assert config["config"]["mapper"] == ["ga", "random"]
    assert config["config"]["seeds"] == [5, 6]
    assert config["layer"]["extents"] == {"K": 16, "C": 32, "Y": 112, "X": 112, "R": 1, "S": 1}
    assert config["hardware"]["num_pes"] == 1024
    assert config["map_space"]["parameters"]["l2_order"] == 720
    assert config["map_space"]["size"] == int(
        np.prod([int(n) for n in config["map_space"]["parameters"].values()], dtype=object)
    )
    assert config["objective"]["lower_bound"] == load(out / "summary.json")["lower_bound"]
    assert {"python", "numpy", "gymnasium", "maestro-env", "commit", "processor"} <= set(
        load(out / "versions.json")
    )


def test_several_seeds_are_summarised_by_the_iqm(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(out, "--seeds=5", "--mapper=random", samples=50)
    assert "IQM of 5 seeds" in capsys.readouterr().out
    figures = load(out / "summary.json")["mappers"]["random"]
    assert [seed["seed"] for seed in figures["seeds"]] == [0, 1, 2, 3, 4]
    for name in ("best", "times_lower_bound", "samples_to_best", "valid_fraction", "seconds"):
        values = np.array([seed[name] for seed in figures["seeds"]])
        assert figures[name] == iqm(values)
    assert len({seed["best"] for seed in figures["seeds"]}) == 5


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
    assert run(out, "--mapper=random", *flags) == 0
    summary = load(out / "summary.json")
    assert summary["lower_bound"] is None
    assert summary["mappers"]["random"]["times_lower_bound"] is None
    assert summary["mappers"]["random"]["best"] > 0
    row = next(line for line in capsys.readouterr().out.splitlines() if "random" in line)
    assert row.split()[2] == "-"
    assert "lower bound" not in (out / "convergence.svg").read_text()


def test_a_run_without_valid_mapping_says_so(
    out: Path, impossible: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(out, f"--hardware={impossible}", "--seeds=2") == 0
    assert capsys.readouterr().out.count("no valid mapping") == len(mappers.MAPPERS)
    for figures in load(out / "summary.json")["mappers"].values():
        assert figures["best"] is figures["samples_to_best"] is figures["times_lower_bound"] is None
        assert figures["valid_fraction"] == 0
    assert {path.name for path in out.iterdir()} == {
        name for name in FILES if not name.startswith("best_")
    }


def test_a_mapper_that_finds_nothing_from_one_seed_has_no_mean(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lost = Search("random", 0, np.array([np.inf]), np.array([1], np.uint8), 0.1, None)
    found = Search("random", 1, np.array([4.0]), np.array([0], np.uint8), 0.1, (1, 2))
    figures = summarise([lost, found], 2.0)
    assert figures["random"]["best"] is None
    assert figures["random"]["valid_fraction"] == 0.5
    assert figures["random"]["seeds"][1]["times_lower_bound"] == 2.0
    summary = {"objective": "edp", "unit": "", "interrupted": False, "mappers": figures}
    print_table(summary_table(resolve(RunConfig(seeds=2)), summary))
    assert "valid in 1 of 2 seeds" in capsys.readouterr().out


def test_strided_layers_are_warned_of(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(out, "--layer=resnet18_l0", "--mapper=random", samples=50) == 0
    assert "warning: maestro miscounts" in capsys.readouterr().err


def test_list_layers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list-layers"]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if "mobilenetv2_l2 " in line)
    assert line.split() == [
        *("mobilenetv2_l2", "CONV", "K16", "C32", "Y112", "X112", "R1", "S1", "6,422,528", "1")
    ]


# Bad input

BAD_INPUT = {
    "layer": (["--layer=mobilenetv2_l222"], "did you mean mobilenetv2_l2"),
    "objective": (["--objective=epd"], "allowed: area, edp, energy, latency"),
    "mapper": (["--mapper=random,gaa"], "did you mean ga?"),
    "hardware": (["--hardware=papre"], "did you mean paper?"),
    "model": (["--model=maestor"], "allowed: maestro"),
    "schema": (["--schema=legal"], "allowed: full17, legal13, paper10"),
    "tiles": (["--tiles=primes"], "allowed: divisors, integers"),
    "energy": (["--energy=some"], "allowed: csv, total"),
    "refused schema": (["--schema=full17"], "tiles R or S"),
    "window": (["--layer=conv:K=1,C=1,Y=2,X=2,R=3,S=3"], "window R = 3 is larger"),
    "no samples": (["--samples=0"], "integers from 1"),
    "negative samples": (["--samples", "-1"], "integers from 1"),
    "fractional samples": (["--samples=1.5"], "integers from 1"),
    "no seeds": (["--seeds=0"], "integers from 1"),
    "negative seed": (["--seed=-1"], "integers from 0"),
    "no threads": (["--threads=0"], "integers from 1 to 1024"),
    "unknown flag": (["--sample=1"], "--sample=1"),
    "line break": (["--objective=e\np"], "unknown objective 'e p'"),
    "resume without directory": (["--resume"], "--out DIR"),
    "resume of nothing": (["--resume", "--out=nothing"], "nothing/config.json"),
}


@pytest.mark.parametrize(("flags", "message"), BAD_INPUT.values(), ids=BAD_INPUT)
def test_bad_input_is_one_line_and_nothing_is_done(
    flags: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(flags) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert message in shown.err
    assert list(tmp_path.iterdir()) == []


def test_csv_energy_needs_a_model_that_has_it(
    out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    without = replace(models.MODELS["maestro"], csv_energy=False)
    for module in ("maestro_env.models", "experiments.config"):
        monkeypatch.setattr(f"{module}.MODELS", {"maestro": without})
    assert run(out, "--energy=csv") == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not out.exists()


def test_existing_directories_are_never_overwritten(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(out, "--mapper=random", samples=50)
    before = {path: path.read_bytes() for path in out.iterdir()}
    capsys.readouterr()
    assert run(out, "--mapper=random", samples=50) == 2
    assert run(out, "--mapper=random", "--resume", samples=51) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert f"{out} exists" in first
    assert "samples = 50, asked for 51" in second
    assert {path: path.read_bytes() for path in out.iterdir()} == before


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


def test_a_failing_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def write_half() -> None:
        with replacing(path) as temporary:
            temporary.write_text("ne")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["config.json", "summary.json", "trace.csv.gz"])
def test_damaged_directories_are_named(out: Path, name: str) -> None:
    run(out, "--mapper=random", samples=50)
    (out / name).write_bytes((out / name).read_bytes()[:-20])
    with pytest.raises(RecordError, match=name):
        read_run(out)
    (out / name).unlink()
    with pytest.raises(RecordError, match=name):
        read_run(out)


def test_missing_rows_are_noticed(out: Path) -> None:
    run(out, "--mapper=random", samples=50)
    lines = gzip.decompress((out / "trace.csv.gz").read_bytes()).splitlines(keepends=True)
    (out / "trace.csv.gz").write_bytes(gzip.compress(b"".join(lines[:-1])))
    with pytest.raises(RecordError, match=r"summary\.json does not fit trace\.csv\.gz"):
        read_run(out)


def test_rows_the_summary_does_not_know_are_left_out(out: Path) -> None:
    run(out, "--seeds=2", "--mapper=random", samples=50)
    summary = load(out / "summary.json")
    del summary["mappers"]["random"]["seeds"][1]
    (out / "summary.json").write_text(json.dumps(summary))
    assert [(search.seed, len(search.values)) for search in read_run(out).searches] == [(0, 50)]


# Determinism


def test_same_seed_same_trace(tmp_path: Path) -> None:
    flags = ["--samples=700", "--seed=3"]
    script = (
        "import sys; from experiments.run import main; main(sys.argv[1:]); "
        "print('torch' in sys.modules)"
    )
    for name, extra in (("a", []), ("b", []), ("threads", ["--threads=2"])):
        assert main([*flags, f"--out={tmp_path / name}", *extra]) == 0
    fresh = subprocess.run(
        [sys.executable, "-c", script, *flags, f"--out={tmp_path / 'fresh'}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert fresh.stdout.splitlines()[-1] == "False"
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


# Plots and other commands


def test_plots_are_drawn_from_the_directory_alone(out: Path, tmp_path: Path) -> None:
    run(out, "--seeds=3")
    moved = tmp_path / "moved"
    moved.mkdir()
    for name in ("config.json", "summary.json", "trace.csv.gz"):
        shutil.copy(out / name, moved)
    assert draw(moved) == moved / "convergence.png"
    for name in ("convergence.png", "convergence.svg"):
        assert (moved / name).read_bytes() == (out / name).read_bytes()
    svg = (out / "convergence.svg").read_text()
    for text in ("lower bound", "random", "ga", "mobilenetv2_l2 on paper: edp", "evaluations"):
        assert f"<!-- {text} -->" in svg


def test_flags_of_a_config_make_that_config() -> None:
    config = RunConfig(layer="a b", samples=7, guard=False, out="-x y", resume=True)
    parsed = []
    assert cli.run(RunConfig, lambda each: parsed.append(each) or 0, "m", cli.to_flags(config)) == 0
    assert parsed == [config]


def test_bench(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in (("REPEATS", 2), ("MAPPINGS", 300), ("STEPS", 150)):
        monkeypatch.setattr(bench, name, value)
    assert bench.main([f"--json={tmp_path / 'bench.json'}"]) == 0
    report = load(tmp_path / "bench.json")
    shown = capsys.readouterr().out
    assert report["date"] in shown
    assert report["processor"] in shown
    assert [row.pop("layer") for row in report["layers"]] == list(bench.LAYERS)
    assert all(figure > 0 for row in report["layers"] for figure in row.values())
