"""What the tables of a comparison say, recomputed from traces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compare_helpers import LAYER, cell, compare, rows, section
from odd_mappers import ODD
from run_helpers import load, trace_rows
from run_helpers import run as run_one

from maestro_env import mappers
from maestro_env.experiments.search.cells import SearchRecord
from maestro_env.experiments.store.records import Show

FILES = {
    "cells",
    "config.json",
    "ledger.csv",
    "profile.png",
    "seconds.csv",
    "table.csv",
    "table.md",
}
SAMPLES, SEEDS = 1200, 5
# With every transfer a cycle: four, two an outer step, and the MACs of a PE of 1,024.
OPTIMUM = 4 + 2 * 1 + 64**3 // 1024


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, np.ndarray], float]:
    """A comparison, and of the same searches the values by mapper, [S, N], and the lower bound."""
    directory = tmp_path_factory.mktemp("tables")
    assert compare(directory / "compare", samples=SAMPLES, seeds=SEEDS) == 0
    flags = (f"--layer={LAYER}", "--objective=latency", f"--seeds={SEEDS}")
    assert run_one(directory / "run", *flags, samples=SAMPLES) == 0
    _, *trace = trace_rows(directory / "run")
    values = {
        name: np.array([float(row[3]) for row in trace if row[0] == name]).reshape(SEEDS, SAMPLES)
        for name in ("random", "ga")
    }
    return directory / "compare", values, load(directory / "run" / "summary.json")["lower_bound"]


def middle(values: np.ndarray) -> float:
    """Interquartile mean of five: of the three in the middle."""
    return float(np.sort(values)[1:4].mean())


def test_the_directory_holds_exactly_its_files(compared: tuple[Path, Any, Any]) -> None:
    names = {path.name for path in compared[0].iterdir()}
    plots = {name for name in names if name.startswith("convergence-gemm-")}
    assert names - plots == FILES
    assert {name[-4:] for name in plots} == {".png"}


def test_rows_for_programs(compared: tuple[Path, dict[str, np.ndarray], float]) -> None:
    out, values, bound = compared
    found = {(row["mapper"], int(row["samples"])): row for row in rows(out / "table.csv")}
    assert set(found) == {(name, at) for name in values for at in (1000, SAMPLES)}
    for (name, at), row in found.items():
        bests = {each: traces[:, :at].min(axis=1) for each, traces in values.items()}
        best = middle(bests[name])
        (other,) = bests.keys() - {name}
        wins = [float(x < y) + 0.5 * float(x == y) for x in bests[name] for y in bests[other]]
        assert float(row["best"]) == pytest.approx(best, rel=1e-12)
        assert float(row["low"]) <= best <= float(row["high"])
        leader = min(middle(each) for each in bests.values())
        assert float(row["to_best_mapper"]) == pytest.approx(best / leader)
        assert float(row["times_lower_bound"]) == pytest.approx(best / bound)
        assert float(row["p_improvement"]) == pytest.approx(np.mean(wins))
        assert (row["seeds"], row["valid"]) == ("5", "5")


def test_samples_to_the_optimum(compared: tuple[Path, dict[str, np.ndarray], float]) -> None:
    out, values, _ = compared
    for name, traces in values.items():
        arrived = [np.flatnonzero(trace <= 1.05 * OPTIMUM) for trace in traces]
        first = sorted(float(each[0]) + 1 if len(each) else np.inf for each in arrived)
        reached = sum(np.isfinite(first))
        row = next(row for row in rows(out / "table.csv") if row["mapper"] == name)
        assert int(row["arrived"]) == reached
        assert row["median_samples_to_5_percent"] == (str(first[2]) if reached > 2 else "")
        shown = section(out, LAYER)[name][6 - 1]
        if not reached:
            assert shown == "never"
        else:
            median = f"{first[2]:,.0f}" if reached > 2 else f">{SAMPLES:,}"
            assert shown == median + (f" ({reached} of 5)" if reached < 5 else "")


def test_tables_for_people(compared: tuple[Path, dict[str, np.ndarray], float]) -> None:
    out, values, bound = compared
    bests = {name: traces.min(axis=1) for name, traces in values.items()}
    for name, each in bests.items():
        best = middle(each)
        row = section(out, LAYER)[name]
        figure, low, high = (float(part.strip("[],").replace(",", "")) for part in row[1].split())
        assert figure == pytest.approx(best, rel=5e-4)
        assert low <= figure <= high
        assert float(row[3]) == pytest.approx(best / bound, rel=5e-4)
        ratio = section(out, "Overall")[name][1].split()[0]
        assert float(ratio) == pytest.approx(best / OPTIMUM, rel=5e-4)
    duel = section(out, "Probability of improvement")
    assert float(duel["ga"][0]) + float(duel["random"][1]) == pytest.approx(1, abs=0.011)
    assert duel["ga"][1] == duel["random"][0].replace(duel["random"][0], "-")


def test_multiples_of_the_bound_without_an_optimum(out: Path) -> None:
    flags = ("--layers=gemm:M=64,N=64,K=64,gemm:M=48,N=96,K=32", "--hardware=gemmini")
    assert compare(out, *flags, samples=50, seeds=3) == 0
    each = [row for row in rows(out / "table.csv") if row["mapper"] == "ga"]
    first, second = (float(row["times_lower_bound"]) for row in each if row["samples"] == "50")
    mean = float(section(out, "All 2 problems")["ga"][-2])
    assert mean == pytest.approx((first * second) ** 0.5, rel=5e-3)


def test_the_ledger(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maestro_env.mappers.MAPPERS", {**mappers.MAPPERS, **ODD})
    flags = ("--mappers=random,warming", "--layers=mobilenetv2_l2", "--schema=full17")
    assert compare(out, *flags, samples=300, seeds=3) == 0
    for row in rows(out / "ledger.csv"):
        entries = [load(cell(out, row["mapper"], seed)) for seed in range(3)]
        warm_up = 21 if row["mapper"] == "warming" else 0
        expected = {
            "searches": 3,
            "calls": 900 + warm_up,
            "samples": 900,
            "unique": sum(entry["unique"] for entry in entries),
            "invalid": sum(entry["invalid"] for entry in entries),
            "warm-up": warm_up,
        }
        assert {name: int(row[name]) for name in expected} == expected
        shown = section(out, "Ledger")[row["mapper"]]
        assert shown == [f"{figure:,}" for figure in expected.values()]


def test_a_single_seed_has_no_interval(out: Path) -> None:
    assert compare(out, seeds=1) == 0
    row = section(out, LAYER)["random"]
    assert "[" not in "".join(row)
    assert float(row[0]) > 0
    assert rows(out / "table.csv")[0]["low"] == ""


def test_without_valid_mappings(tmp_path: Path, out: Path) -> None:
    hardware = tmp_path / "tiny.yaml"
    hardware.write_text("num_pes: 16\nl1_bytes: 1\nl2_bytes: 1\n")
    assert compare(out, f"--hardware={hardware}") == 0
    assert section(out, LAYER)["random"] == ["-", "-", "-", "-", "never", "0.50"]
    assert section(out, "Overall")["ga"][0] == "-"
    assert rows(out / "table.csv")[0]["best"] == ""


def test_of_a_comparison_interrupted_early(
    out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No mapper has finished a search on every problem, and some have finished none."""
    search = SearchRecord.run
    searches = iter([search, search])

    def run(work: SearchRecord, show: Show) -> str | None:
        for search in searches:
            return search(work, show)
        raise KeyboardInterrupt

    monkeypatch.setattr(SearchRecord, "run", run)
    assert compare(out, f"--layers=mobilenetv2_l2,resnet18_l2,{LAYER}", "--mappers=random") == 130
    capsys.readouterr()
    assert section(out, "All 3 problems")["random"] == ["-", "-"]
    assert section(out, "resnet18_l2")["random (1 of 2 seeds)"][0] != "-"
    assert section(out, LAYER)["random (0 of 2 seeds)"] == ["-"] * 6
    assert len(rows(out / "table.csv")) == 2


def test_with_some_valid_mappings(out: Path) -> None:
    """Searches of one sample on a machine that not all mappings fit on."""
    small = out.parent / "small.yaml"
    small.write_text("num_pes: 64\nl1_bytes: 1000000\nl2_bytes: 100000\n")
    flags = ("--layers=mobilenetv2_l2", f"--hardware={small}", "--mappers=random")
    assert compare(out, *flags, samples=1, seeds=12) == 0
    (row,) = rows(out / "table.csv")
    valid = int(row["valid"])
    assert 0 < valid < 9
    assert section(out, "mobilenetv2_l2")["random"][0] == f"valid in {valid} of 12"
