from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments.config import RunConfig, resolve
from experiments.records import read_run
from run_helpers import SAMPLES, contents, load, run, trace_rows

import mappers
from experiments.files import RecordError, replacing
from experiments.plots import draw
from experiments.searches import Search, summarise
from experiments.stats import iqm
from experiments.tables import print_table, summary_table
from maestro_env.hardware import find_hardware
from maestro_env.map_space import MapSpace
from maestro_env.mapping import Mapping
from maestro_env.problem import Problem
from maestro_env.workloads import find_layer

FINISHED = ("--mapper=random", "--seeds=2")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture(scope="module")
def finished_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "out"
    assert run(out, *FINISHED, samples=50) == 0
    return out


@pytest.fixture
def finished(finished_once: Path, out: Path) -> Path:
    """A run directory to damage."""
    shutil.copytree(finished_once, out)
    return out


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
        assert figures["invalid"] == np.count_nonzero(~valid)
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
    assert json.loads(json.dumps(cost.as_dict())) == best["cost"]
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
    for name in ("best", "times_lower_bound", "samples_to_best", "invalid", "seconds"):
        values = np.array([seed[name] for seed in figures["seeds"]])
        assert figures[name] == iqm(values)
    assert len({seed["best"] for seed in figures["seeds"]}) == 5


def test_a_mapper_that_finds_nothing_from_one_seed_has_no_mean(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lost = Search("random", 0, np.array([np.inf]), np.array([1], np.uint8), None, 1, 0, 0.1, 0.1)
    found = Search("random", 1, np.array([4.0]), np.array([0], np.uint8), (1, 2), 1, 0, 0.1, 0.1)
    figures = summarise([lost, found], 2.0)
    assert figures["random"]["best"] is None
    assert figures["random"]["invalid"] == 0.5
    assert figures["random"]["seeds"][1]["times_lower_bound"] == 2.0
    summary = {"objective": "edp", "unit": "", "interrupted": False, "mappers": figures}
    print_table(summary_table(resolve(RunConfig(seeds=2)), summary))
    assert "valid in 1 of 2 seeds" in capsys.readouterr().out


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
    for text in ("lower bound", "random", "ga", "mobilenetv2_l2 on unlimited: edp", "evaluations"):
        assert f"<!-- {text} -->" in svg


# Damage


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
def test_damaged_directories_are_named(finished: Path, name: str) -> None:
    (finished / name).write_bytes((finished / name).read_bytes()[:-20])
    with pytest.raises(RecordError, match=name):
        read_run(finished)
    (finished / name).unlink()
    with pytest.raises(RecordError, match=name):
        read_run(finished)


def test_missing_rows_are_noticed(finished: Path) -> None:
    lines = gzip.decompress((finished / "trace.csv.gz").read_bytes()).splitlines(keepends=True)
    (finished / "trace.csv.gz").write_bytes(gzip.compress(b"".join(lines[:-1])))
    with pytest.raises(RecordError, match=r"summary\.json does not fit trace\.csv\.gz"):
        read_run(finished)


def test_rows_the_summary_does_not_know_are_left_out(finished: Path) -> None:
    summary = load(finished / "summary.json")
    del summary["mappers"]["random"]["seeds"][1]
    (finished / "summary.json").write_text(json.dumps(summary))
    assert [(search.seed, len(search.values)) for search in read_run(finished).searches] == [
        (0, 50)
    ]


DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize("name", ["config.json", "summary.json"])
@pytest.mark.parametrize(
    "text",
    [
        *("null", "[]", "{}", '{"config": []}', '{"mappers": []}', '{"mappers": {"random": 1}}'),
        *(DEEP, f'{{"config": {DEEP}}}', "9" * 5000, "\udcff"),
    ],
    ids=lambda text: text[:20],
)
def test_resuming_other_json_is_refused(
    finished: Path, name: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (finished / name).write_text(text, errors="surrogateescape")
    check_refused(finished, name, capsys)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("best_point", value) for value in (10**12, "abc", None, [], [10**12] * 13, [0] * 12)),
        *(("best_point", value) for value in ([1.5] * 13, ["1"] * 13, [-1] * 13, {"a": 1})),
        *(("seconds", value) for value in ("abc", None, -1, [1], 10**400, float("inf"))),
        *(("seed", value) for value in (7, 0.0, False, "0", [0], None)),
        *(("evaluations", value) for value in (49, "50", None)),
    ],
)
def test_resuming_a_tampered_summary_is_refused(
    finished: Path, field: str, value: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = load(finished / "summary.json")
    summary["mappers"]["random"]["seeds"][0][field] = value
    (finished / "summary.json").write_text(json.dumps(summary))
    check_refused(finished, "summary.json", capsys)


def test_resuming_with_the_best_point_of_another_search_is_refused(
    finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = load(finished / "summary.json")
    first, second = summary["mappers"]["random"]["seeds"]
    first["best_point"] = second["best_point"]
    (finished / "summary.json").write_text(json.dumps(summary))
    assert f"but the best in trace.csv.gz is {first['best']}" in check_refused(
        finished, "summary.json", capsys
    )


def test_resuming_a_search_that_is_there_twice_is_refused(
    finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = load(finished / "summary.json")
    summary["mappers"]["random"]["seeds"] *= 2
    (finished / "summary.json").write_text(json.dumps(summary))
    check_refused(finished, "summary.json", capsys)


@pytest.mark.parametrize("text", ["a" * 200_000, 'mapper,seed\n"', "mapper\0", DEEP])
def test_resuming_another_trace_is_refused(
    finished: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (finished / "trace.csv.gz").write_bytes(gzip.compress(text.encode()))
    check_refused(finished, "trace.csv.gz", capsys)


def check_refused(out: Path, name: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Check that resuming ends in one line that names the file; return the line."""
    before = contents(out)
    capsys.readouterr()
    assert run(out, *FINISHED, "--resume", samples=50) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert len(shown.err) < 1000
    assert str(out) in shown.err
    assert name in shown.err
    assert contents(out) == before
    return shown.err
