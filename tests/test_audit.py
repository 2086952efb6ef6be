"""What ``maestro-env audit`` says of run directories, sound and damaged."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import audit as main
from compare_helpers import compare
from run_helpers import edit, load, run

from maestro_env.experiments.commands.audit import follow
from maestro_env.experiments.study.study import read_all
from maestro_env.mappers import own_mappers

ROOFLINE = 6272
COLUMNS = {"verdict": 2, "maestro": -2, "exact": -1}


def table(shown: str) -> list[list[str]]:
    """Cells of the rows of the printed table; columns stand two blanks apart."""
    rows = [re.split(r" {2,}", line.strip()) for line in shown.splitlines()]
    return [row for row in rows if row[0] in own_mappers()]


@pytest.fixture(scope="module")
def exploited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("audit") / "run"
    flags = ("--objective=latency", "--mapper=ga", "--model=maestro", "--no-guard", "--seeds=2")
    assert run(out, *flags, samples=4000) == 0
    return out


def test_the_roofline_is_beaten_under_maestro_alone(
    exploited: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(exploited)]) == 0
    shown = capsys.readouterr().out
    assert f"roofline {ROOFLINE:,} cycles" in shown
    rows = table(shown)
    assert [row[:2] for row in rows] == [["ga", "0"], ["ga", "1"]]
    promised = [float(row[COLUMNS["maestro"]]) for row in rows]
    assert min(promised) < 1
    assert all(float(row[COLUMNS["exact"]]) >= 1 for row in rows)
    for row, figure in zip(rows, promised, strict=True):
        says = f"impossible: {figure:.2f} of the roofline"
        assert (row[COLUMNS["verdict"]] == says) == (figure < 1)


def test_a_guarded_run_is_possible(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(tmp_path / "run", "--mapper=random", "--model=maestro")
    capsys.readouterr()
    assert main([str(tmp_path / "run")]) == 0
    (row,) = table(capsys.readouterr().out)
    assert row[COLUMNS["verdict"]] == "possible"
    best = load(tmp_path / "run" / "best_cost.json")["cost"]
    assert row[6] == f"{best['latency_cycles']:,.0f}"
    assert row[3] == f"{best['latency_cycles'] * best['energy_nj']:.4g}"


def test_mappings_maestro_refuses_are_scored_by_exact_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path / "run", "--layer=resnet18_l2", "--schema=full17", "--mapper=random")
    capsys.readouterr()
    assert main([str(tmp_path / "run")]) == 0
    (row,) = table(capsys.readouterr().out)
    assert row[COLUMNS["verdict"]] == "no figures; maestro: reference_exit"
    assert row.count("-") == 5


def test_strided_layers_and_small_buffers_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = tmp_path / "small.yaml"
    small.write_text("num_pes: 64\nl1_bytes: 4096\nl2_bytes: 100000\n")
    flags = ("--layer=resnet18_l0", f"--hardware={small}", "--mapper=random")
    assert run(tmp_path / "run", *flags) == 0
    small.unlink()
    capsys.readouterr()
    assert main([str(tmp_path / "run")]) == 0
    shown = capsys.readouterr()
    assert shown.err.startswith("warning: maestro miscounts")
    (row,) = table(shown.out)
    assert row[COLUMNS["verdict"]].startswith("impossible: ")


def test_a_run_without_valid_mapping(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tiny = tmp_path / "tiny.yaml"
    tiny.write_text("num_pes: 4\nl1_bytes: 1\n")
    run(tmp_path / "run", f"--hardware={tiny}", "--mapper=random", samples=20)
    capsys.readouterr()
    assert main([str(tmp_path / "run")]) == 0
    assert table(capsys.readouterr().out) == [["random", "0", "no valid mapping"]]


@pytest.mark.slow
def test_problems_of_a_comparison_have_a_table_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layers = "mobilenetv2_l2,gemm:M=64,N=64,K=64"
    out = tmp_path / "out"
    assert compare(out, f"--layers={layers}", "--mappers=random", samples=20, seeds=11) == 0
    capsys.readouterr()
    assert main([str(out)]) == 0
    shown = capsys.readouterr().out
    assert shown.count("roofline") >= 2
    assert [row[1] for row in table(shown)] == [str(seed) for seed in range(11)] * 2


SETTINGS: dict[str, tuple[str, Callable[[dict[str, Any]], object], str]] = {
    "no layer": ("goal", lambda entry: entry.pop("layer"), "KeyError('layer')"),
    "layer a list": ("goal", lambda entry: entry.update(layer=[]), "goal.json"),
    "no samples": ("config", lambda entry: entry["config"].pop("samples"), "'samples'"),
    "settings a list": ("config", lambda entry: entry.update(config=[1]), "goal.json"),
    "unknown model": ("config", lambda entry: entry["config"].update(model="oracle"), "oracle"),
    "no PEs": ("goal", lambda entry: entry["hardware"].update(num_pes=0), "num_pes"),
    "extent a text": ("goal", lambda entry: entry["layer"]["extents"].update(K="1"), "K"),
    "other layer": ("goal", lambda entry: entry["layer"]["extents"].update(K=17), "latency"),
}


@pytest.mark.parametrize(("name", "change", "message"), SETTINGS.values(), ids=SETTINGS)
def test_settings_that_cannot_be_are_one_line(
    name: str,
    change: Callable[[dict[str, Any]], object],
    message: str,
    exploited: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    directory = tmp_path / "run"
    shutil.copytree(exploited, directory)
    (path,) = directory.rglob(f"{name}.json")
    edit(path, change, sealed=True)
    capsys.readouterr()
    assert main([str(directory)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("error: ")
    assert shown.err.count("\n") == 1
    assert message in shown.err


def test_the_way_to_an_exploit_is_drawn(
    exploited: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(exploited), f"--exploit={tmp_path / 'drawn'}", "--svg"]) == 0
    names = {path.name for path in (tmp_path / "drawn").iterdir()}
    assert names == {"exploitation.png", "exploitation.svg"}
    shown = " ".join(capsys.readouterr().out.split())
    assert "ga, 4,000 samples, seeds 0 to 1, maestro without guard" in shown
    found = read_all(exploited)
    for search in found[0][1]:
        maestro, exact = follow(found[0][0], search)
        assert maestro[-1] == search.best / ROOFLINE
        assert (np.diff(maestro) < 0).all()
        assert (exact >= 1).all()


def test_a_search_that_ends_elsewhere_is_not_drawn(
    exploited: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = tmp_path / "run"
    shutil.copytree(exploited, directory)
    path, other = sorted(directory.rglob("ga/?.json"))
    changed = {name: load(other)[name] for name in ("improvements", "best_point")}
    edit(path, lambda entry: entry.update(changed), sealed=True)
    assert main([str(directory), f"--exploit={tmp_path / 'drawn'}"]) == 2
    assert "ends elsewhere" in capsys.readouterr().err
    assert not (tmp_path / "drawn").exists()


def test_searches_that_did_not_believe_maestro_are_not_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path / "run", "--objective=latency", "--mapper=random", samples=20)
    assert main([str(tmp_path / "run"), f"--exploit={tmp_path / 'drawn'}"]) == 2
    assert "no mappings searched for latency under maestro" in capsys.readouterr().err


def test_a_directory_without_searches_is_refused(
    exploited: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = tmp_path / "run"
    shutil.copytree(exploited, directory)
    shutil.rmtree(directory / "cells")
    capsys.readouterr()
    assert main([str(directory)]) == 2
    assert "has no searches" in capsys.readouterr().err
