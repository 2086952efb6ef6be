"""``maestro-env bench``: what it measures, and what it says of a program that is no MAESTRO."""

from __future__ import annotations

import sys
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from commands import bench as main
from map_space_helpers import CONV, PES, column
from run_helpers import load
from two_levels import MODELS

from maestro_env import _native
from maestro_env.accelerators.finding import find_hardware
from maestro_env.accelerators.hardware import PRESETS
from maestro_env.base.m_file import parse
from maestro_env.base.parallelism import processors
from maestro_env.evaluation.problem import Problem
from maestro_env.experiments.commands import bench as job
from maestro_env.mapspace.mapping import to_m
from maestro_env.mapspace.two_level_space import SCHEMAS, MapSpace

SMALL = {
    "REPEATS": 2,
    "MAPPINGS": 300,
    "SAMPLES": 50,
    "DRAWN": 400,
    "SINGLES": 40,
    "STEPS": 150,
    "COPIES": 20,
    "STEPS_OF_COPIES": 5,
    "SYNC_COPIES": 2,
    "SYNC_STEPS": 5,
    "BINARY_LAYERS": job.BINARY_LAYERS[:1],
    "IN_ONE_FILE": 20,
    "CALLS": 2,
}


def program(directory: Path, script: str) -> Path:
    path = directory / "maestro"
    path.write_text(script, encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def drop_in(tmp_path: Path) -> Path:
    """A program that stands in for the binary: it reads its files and writes its CSV."""
    return program(
        tmp_path, f'#!/bin/sh\nexec "{sys.executable}" -m maestro_env.compat.program "$@"\n'
    )


def test_a_report(
    drop_in: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in SMALL.items():
        monkeypatch.setattr(job, name, value)
    path = tmp_path / "new" / "bench.json"
    assert main([f"--json={path}", f"--maestro={drop_in}"]) == 0
    report, shown = load(path), capsys.readouterr().out
    assert f"{report['date']}, {report['processor']}, {processors()} processors" in shown
    assert report["versions"]["python"] in sys.version

    def keys(section: str, *names: str) -> list[tuple[object, ...]]:
        return [tuple(row[name] for name in names) for row in report[section]]

    layers = job.LAYERS
    batched = set(keys("batches", "layer", "schema", "model", "threads"))
    threads = {1, 2} if processors() > 1 else {1}
    assert batched >= set(product(layers, ["legal13"], MODELS, threads))
    assert ("full17", "maestro") not in {key[1:3] for key in batched}
    assert keys("accelerators", "hardware", "model") == [*product(PRESETS, MODELS)]
    searched = set(keys("searches", "hardware", "schema", "model"))
    assert searched >= set(product(PRESETS, SCHEMAS, ["exact"]))
    machines = [("edge", "exact")]
    machines += product(("three memories", "gemmini", "eyeriss"), ["hierarchy"])
    measured = product(job.MEMORIES_LAYERS, machines)
    assert keys("memories", "layer", "hardware", "model") == [(each, *of) for each, of in measured]
    assert keys("mappings", "layer", "model") == [*product(layers, MODELS)]
    assert keys("environments", "layer", "model") == [*product(layers, MODELS)]
    assert keys("maestro_binary", "model") == [("exact",), ("maestro, no guard",), ("maestro",)]
    assert keys("copies", "layer") == [(layer,) for layer in layers]
    rates = ("batches", "accelerators", "searches", "memories", "environments", "copies")
    for section in (*rates, "mappings"):
        for row in report[section]:
            assert all(figure > 0 for figure in row.values() if isinstance(figure, float))
    for row in report["mappings"]:
        assert row["p50_us"] <= row["p90_us"] <= row["p99_us"]
    for row in report["maestro_binary"]:
        assert row["ratio"] == pytest.approx(row["binary_us"] / row["model_us"])
        # A call starts Python, which takes longer than its share of a file of 20.
        assert row["binary_call_us"] > row["binary_us"] > row["model_us"]


def test_work_is_done_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(job.time, "perf_counter", lambda: now[0])
    took = {"a": iter((50.0, 1.0, 2.0)), "b": iter((60.0, 20.0, 10.0))}
    done = []

    def work(name: str) -> None:
        done.append(name)
        now[0] += next(took[name])

    monkeypatch.setattr(job, "REPEATS", 3)
    assert job.interleaved([partial(work, name) for name in took]) == [2, 20]
    assert done == ["a", "b"] * 3


def test_a_file_has_a_layer_for_every_mapping() -> None:
    space = MapSpace(CONV, PES)
    mappings = [space.decode(point) for point in space.sample(5, np.random.default_rng(0))]
    layers = parse(to_m(CONV, mappings)).layers
    assert [each.directives for each in layers] == [each.directives for each in mappings]
    assert {each.operator for each in layers} == {"CONV"}
    assert all(dict(each.extents) == CONV.extents for each in layers)


def test_a_binary_evaluates_the_mappings_it_is_given(drop_in: Path, tmp_path: Path) -> None:
    space = MapSpace(CONV, find_hardware("unlimited"))
    points = space.sample(3, np.random.default_rng(0))
    runtime = _native.CSV_HEADER.split(",").index(" Runtime (Cycles)")
    rows = Problem(space, "maestro", guard=False).evaluate(points)
    expected = column(rows.metrics, "latency_cycles").tolist()
    # Of a second call there is nothing left of the first.
    for chosen in ([0, 1, 2], [1]):
        text = to_m(CONV, [space.decode(points[index]) for index in chosen])
        lines = job.call_binary(drop_in, tmp_path, text, len(chosen))
        found = [float(line.split(",")[runtime]) for line in lines]
        assert found == [expected[index] for index in chosen]


NO_MAESTRO: dict[str, tuple[str, str]] = {
    "does nothing": ("#!/bin/sh\n", "No such file or directory: "),
    "no rows": ("#!/bin/sh\necho header > mapping.csv\n", "writes 0 rows for 1000 mappings"),
    "few rows": ("#!/bin/sh\nprintf 'h\\n1\\n2\\n' > mapping.csv\n", "writes 2 rows for 1000"),
    "binary rows": ("#!/bin/sh\nprintf '\\377' > mapping.csv\n", "can't decode byte 0xff"),
    "refuses": ("#!/bin/sh\nexit 3\n", "ends with status 3"),
    "crashes": ("#!/bin/sh\nkill -SEGV $$\n", "ends with status -11"),
    "no program": ("words\n", "Exec format error"),
    "no interpreter": ("#!/nowhere/sh\n", "No such file or directory"),
}


def refused(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert main([f"--maestro={path}"]) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith("error: ")
    assert shown.err.count("\n") == 1
    return shown.err


@pytest.mark.parametrize(("script", "message"), NO_MAESTRO.values(), ids=NO_MAESTRO)
def test_a_program_that_is_no_maestro_is_refused(
    script: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in refused(program(tmp_path, script), capsys)


def test_a_path_without_a_program_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "No such file or directory" in refused(tmp_path / "nothing", capsys)
    assert "Permission denied" in refused(tmp_path, capsys)
    path = program(tmp_path, "#!/bin/sh\n")
    path.chmod(0o644)
    assert "Permission denied" in refused(path, capsys)
