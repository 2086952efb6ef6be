"""What ``maestro-env compare`` runs, keeps, refuses and shows."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from commands import compare as main
from commands import map_network
from commands import run as run_main
from compare_helpers import LAYER, LAYERS, cells, compare, rows, tables
from gate import few
from odd_mappers import ODD, SITE
from run_helpers import load, trace_rows
from run_helpers import run as run_one
from same_results import TIMES

from maestro_env import mappers
from maestro_env.experiments.commands.compare import Config as CompareConfig
from maestro_env.experiments.search.library import read_library
from maestro_env.experiments.shell.flags import split_layers


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def odd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Register mappers that misbehave, here and in processes that start from now on."""
    monkeypatch.setattr("maestro_env.mappers.MAPPERS", {**mappers.MAPPERS, **ODD})
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(SITE)
    here, root = Path(__file__).parent, Path(__file__).parents[1]
    monkeypatch.setenv("PYTHONPATH", f"{site}:{here}:{root}")


def markdown_row(out: Path, section: str, mapper: str) -> list[str]:
    text = (out / "table.md").read_text().split(f"## {section}", 1)[1].split("\n## ")[0]
    line = next(line for line in text.splitlines() if line.startswith(f"| {mapper}"))
    return [each.strip() for each in line.strip("|").split("|")]


# --- Flags --------------------------------------------------------------------------------------


def test_commas_inside_a_layer_do_not_separate() -> None:
    text = "a_l1, conv:K=1,C=2,stride=2x1 ,gemm:M=1,N=2,K=3,nets/b.csv:3,a_l1"
    parts = ("a_l1", "conv:K=1,C=2,stride=2x1", "gemm:M=1,N=2,K=3", "nets/b.csv:3")
    assert split_layers(text) == parts


BAD_INPUT = {
    "layer": (
        ["--layers=resnet18_l2,resnet18_l222"],
        "resnet18 has no layer 'resnet18_l222': did you",
    ),
    "lone dimension": (["--layers=K=3"], "unknown layer 'K=3'"),
    "no layer": (["--layers=resnet18_l2,"], "unknown layer ''"),
    "objective": (["--objectives=edp,epd"], "unknown objective 'epd'"),
    "mapper": (["--mappers=random,gaa"], "unknown mapper 'gaa': did you mean ga"),
    "setting": (["--mappers=ga:population=1"], "population is 1; allowed: integers from 2"),
    "all and more": (["--mappers=all,ga"], "--mappers all,ga: 'all' cannot be combined"),
    "one layer twice": (
        ["--layers=gemm:M=8,N=4,K=2,gemm:N=4,M=8,K=2"],
        "gemm:M=8,N=4,K=2 and gemm:N=4,M=8,K=2 are the same problem: give one of them",
    ),
    "one mapper twice": (
        ["--mappers=ga,ga:population=100"],
        "ga and ga:population=100 are the same: give one of them",
    ),
}


@pytest.mark.parametrize(("flags", "message"), BAD_INPUT.values(), ids=BAD_INPUT)
def test_bad_input_is_one_line_and_nothing_is_done(
    flags: list[str], message: str, assert_refused: Callable[..., None]
) -> None:
    assert_refused(main, flags, message)


def test_the_default_mappers_and_layers_exist() -> None:
    config = CompareConfig()
    assert len(split_layers(config.layers)) == 4
    assert config.mappers == "all"


# --- What is run --------------------------------------------------------------------------------


def test_records_are_those_of_the_main_job(tmp_path: Path, out: Path) -> None:
    mapper = "ga:population=20:elites=2"
    assert compare(out, f"--layers={LAYERS}", f"--mappers=random,{mapper}", samples=100) == 0
    assert len(cells(out)) == 2 * 2 * 2
    flags = (f"--layer={LAYER}", "--objective=latency", f"--mapper={mapper}", "--seed=1")
    run_one(tmp_path / "run", *flags, samples=100)
    (path,) = out.glob("cells/gemm-*/latency/ga-*/1.json")
    (same,) = (tmp_path / "run").glob("cells/gemm-*/latency/ga-*/1.json")
    own = dict.fromkeys((*TIMES, "digest", "trace"))
    assert load(path) | own == load(same) | own
    _, *rows = trace_rows(tmp_path / "run")
    bests = [np.inf, *(float(row[4]) for row in rows)]
    improved = [at for at in range(1, 101) if bests[at] < bests[at - 1]]
    assert load(path)["improvements"] == [[at, bests[at]] for at in improved]
    after = load(path)["seconds_of_improvements"]
    assert after == sorted(after)
    assert len(after) == len(improved)
    assert 0 < after[-1] <= load(path)["seconds"] + 0.01


def test_any_number_of_jobs_leaves_the_same_files(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    assert compare(one) == 0
    assert compare(two, "--jobs=2", "--threads=2") == 0
    assert tables(one) == tables(two)
    untimed = dict.fromkeys((*TIMES, "digest"))
    for left, right in zip(cells(one), cells(two), strict=True):
        assert load(left) | untimed == load(right) | untimed


# --- Resuming -----------------------------------------------------------------------------------


def test_a_comparison_can_be_extended_and_runs_nothing_twice(
    tmp_path: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(out, "--mappers=random", seeds=1) == 0
    before = {path: path.read_bytes() for path in cells(out)}
    more = ("--layers=" + LAYERS, "--mappers=ga,random")
    assert compare(out, "--resume", *more) == 0
    assert {path: path.read_bytes() for path in before} == before
    assert len(cells(out)) == 2 * 2 * 2
    whole = tmp_path / "whole"
    assert compare(whole, *more) == 0
    assert tables(out) == tables(whole)
    # What is finished stays in the tables.
    capsys.readouterr()
    for less in (["--mappers=ga"], ["--seed=1", "--seeds=1"], [f"--layers={LAYER}"]):
        assert compare(out, "--resume", *more, *less) == 2
        assert "searches that are not asked for, such as " in capsys.readouterr().err
    assert tables(out) == tables(whole)


def test_another_layer_of_the_same_name_is_refused(
    tmp_path: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    net = tmp_path / "net.csv"
    net.write_text("K,C,Y,X,R,S,T\n16,16,8,8,3,3,1\n")
    flags = (f"--layers={net}", "--mappers=random")
    assert compare(out, *flags, seeds=1) == 0
    net.write_text("K,C,Y,X,R,S,T\n16,32,8,8,3,3,1\n")
    capsys.readouterr()
    assert compare(out, *flags, "--resume", seeds=1) == 2
    assert re.search(r"goal\.json: the run has layer extents", capsys.readouterr().err)


# --- Mappers that fail --------------------------------------------------------------------------


@pytest.mark.usefixtures("odd")
@pytest.mark.parametrize("jobs", few([1, 2]))
def test_a_mapper_that_raises_loses_its_own_cells(
    jobs: int, out: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    flags = ("--mappers=random,failing,greedy,lazy,leaving", f"--jobs={jobs}")
    assert compare(out, *flags) == 1
    shown = capfd.readouterr()
    failures = sorted(line for line in shown.err.splitlines() if line.startswith("failed: "))
    assert len(failures) == 8
    path = out / "cells"
    (path,) = path.glob("*/latency/failing/1.error.txt")
    told = f"failed: failing on {LAYER}, latency, seed 1: ArithmeticError: lost count; traceback in"
    assert f"{told} {path}; --resume runs it again" in failures
    assert "301 evaluations asked for, 300 of 300 remain" in " ".join(failures)
    assert "SystemExit: 0" in " ".join(failures)
    assert "lazy ended its search after 1 of 300 evaluations" in " ".join(failures)
    assert path.read_text().startswith("Traceback")
    assert {each.parent.name for each in cells(out)} == {"random"}
    assert markdown_row(out, LAYER, "failing")[0] == "failing (0 of 2 seeds)"
    assert {row["mapper"] for row in rows(out / "table.csv")} == {"random"}

    monkeypatch.setenv("MENDED", "1")
    assert compare(out, "--mappers=random,failing", "--resume") == 0
    assert not path.exists()
    assert len(cells(out)) == 4


@pytest.mark.usefixtures("odd")
def test_nothing_is_shown_if_every_search_fails(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(out, "--mappers=failing,leaving") == 1
    shown = capsys.readouterr()
    assert shown.out.strip() == ""
    assert shown.err.count("failed: ") == 4
    assert not (out / "table.md").exists()


@pytest.mark.usefixtures("odd")
def test_a_process_that_dies_does_not_take_the_tables(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(out, "--mappers=random", seeds=1) == 0
    assert compare(out, "--mappers=random,dying", "--jobs=2", "--resume") == 1
    assert "failed: a process died in the middle of its work" in capsys.readouterr().err
    assert markdown_row(out, LAYER, "dying")[0] == "dying (0 of 2 seeds)"


# --- Libraries ----------------------------------------------------------------------------------


def test_a_study_starts_from_a_library_if_it_is_named(out: Path, tmp_path: Path) -> None:
    network, library = tmp_path / "net.csv", tmp_path / "library.json"
    network.write_text("K,C,Y,X,R,S,T\n16,8,16,16,1,1,1\n")
    hardware, named = "--hardware=edge", f"--library={library}"
    quick = ["--samples=200", "--nodes=0", "--front=0", "--mapper=marl"]
    assert map_network([str(network), hardware, f"--out={tmp_path / 'net'}", *quick, named]) == 0
    (known,) = read_library(library)
    before = library.read_bytes()
    layer = "conv:K=16,C=8,Y=16,X=16,R=1,S=1"
    common = [hardware, "--samples=10", "--seeds=1"]
    flags = [f"--layer={layer}", "--objective=edp", "--mapper=ga_log,random", *common]
    best = {}
    for place, more in (("nothing", []), ("library", [named])):
        assert run_main([*flags, f"--out={tmp_path / place}", *more]) == 0
        told = load(tmp_path / place / "summary.json")["mappers"]
        best[place] = [told[mapper]["best"] for mapper in ("ga_log", "random")]
        assert {each["evaluations"] for each in told.values()} == {10}
    # The library has the very layer.
    assert max(best["library"]) <= known.value < min(best["nothing"])
    # Both commands record with which library they were begun, and add nothing to it.
    assert library.read_bytes() == before
    flags = [f"--layers={layer}", "--objectives=edp", "--mappers=ga_log,random", *common]
    begun = [f"--out={tmp_path / 'library'}", "--resume"]
    assert main([*flags, *begun, named]) == 0
    assert main([*flags, *begun]) == 2
    assert main([*flags, f"--out={out}", f"--library={tmp_path / 'none.json'}"]) == 2
    assert not out.exists()
