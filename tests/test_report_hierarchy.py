"""Reports of accelerators with any memories: the page and the CSV say what the text says."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from gate import few
from test_report import rows

from maestro_env.accelerators.finding import chips_with
from maestro_env.accelerators.hierarchy_file import read_hierarchy
from maestro_env.evaluation.objectives import find_objective
from maestro_env.experiments.pages.charts import charts_of
from maestro_env.experiments.pages.sections import Found, Section
from maestro_env.experiments.pages.writer import write_report
from maestro_env.experiments.search.goals import Goal
from maestro_env.models import find_accelerator, make_problems
from maestro_env.workloads.finding import find_layer

OWN = """
{name: own, word_bits: 16, mac: {pj: 0.5}, memories: [
  {memory: DRAM, read_bw: 48, write_bw: 32, read_pj_per_bit: 4, write_pj_per_bit: 5},
  {memory: =SUM, capacity_bits: 16KB, read_pj_per_bit: 0.5, write_pj_per_bit: 0.25},
  {memory: filters, pool: =SUM, keeps: [filter]},
  {fanout: units, size: 4, pj_per_bit: 0.125}, {memory: spad, capacity_bits: 512B}]}
"""
BARE = "word_bits: 4\nmemories: [{memory: DRAM, bw: 8}, {fanout: units, size: 4}, {memory: spad}]"
NAMES = ("conv:K=8,C=6,Y=12,X=12,R=3,S=3,stride=2", "gemm:M=9,N=10,K=32")
BOUND, COUNT = 100.0, 3


def section(chip: str) -> Section:
    """Random valid mappings of two layers, not what a search would keep."""
    hardware = find_accelerator(read_hierarchy(chip) if "\n" in chip else chip, "hierarchy")
    found = []
    for problem in make_problems([find_layer(each) for each in NAMES], hardware, "hierarchy"):
        goal = Goal(problem, find_objective("latency"), BOUND)
        points = problem.space.sample(40, np.random.default_rng(1))
        for point in points[problem.evaluate(points).status == 0][:4].tolist():
            found.append(Found(str(len(found)), goal, point, 1.0, BOUND, "any", 1, COUNT, ()))
    assert len(found) > len(NAMES)
    return Section("any", hardware, tuple(found), (), "", {}, ())


@pytest.mark.parametrize("chip", few([OWN, *chips_with("memories")]))
def test_bars_and_columns_add_up_to_the_energy(chip: str, tmp_path: Path) -> None:
    told = section(chip)
    charts = {chart.title: chart for chart in charts_of(told)}
    bars = charts["Energy by layer"].spec["data"]["values"]
    for found in told.found:
        drawn = sum(bar["energy"] for bar in bars if bar["layer"] == f"{found.name}, latency")
        # The total is that of the C++ core, which does not go by place.
        assert drawn == pytest.approx(COUNT * found.cost.energy_nj)
    by_tensor = charts["Energy by memory and tensor"]
    stacked = sum(bar["energy"] for bar in by_tensor.spec["data"]["values"])
    assert stacked == pytest.approx(sum(COUNT * each.cost.energy_nj for each in told.found))
    assert ("is known of: spad." in by_tensor.note) == (chip == OWN)
    write_report([told], tmp_path / "report.csv")
    cells = rows(tmp_path / "report.csv")
    for row in cells:
        spent = sum(float(row[name]) for name in row if name.endswith("_energy_nj"))
        assert spent == pytest.approx(float(row["energy_nj"]))
        assert float(row["gap"]) == pytest.approx(max(float(row["value"]) / BOUND - 1, 0))
    # One text, as they take long.
    lines = r"^  (?:input|filter|output) +([\d,]+) +[\d,]+ +\S+ times$"
    words = re.findall(lines, told.found[0].explanation, re.MULTILINE)
    moved = sum(int(each.replace(",", "")) for each in words)
    assert float(cells[0]["macs_per_offchip_word"]) * moved == pytest.approx(int(cells[0]["macs"]))
    # All of time need a clock.
    empty = {name for row in cells for name, cell in row.items() if not cell}
    assert empty <= {"latency_ms", "inferences_per_second"}
    assert not [name for name in cells[0] if name.startswith("=")]


@pytest.mark.parametrize(
    ("chip", "peak", "bandwidth"),
    # The files in words: 80.5 bits of 8 a cycle; no limit; (48 + 32) / 16 and 8 / 4.
    [("gemmini", 256, 80.5 / 8), ("eyeriss", 168, np.inf), (OWN, 4, 5), (BARE, 4, 2)],
)
def test_no_point_is_above_the_roof(chip: str, peak: int, bandwidth: float) -> None:
    told = section(chip)
    roofline, *others = charts_of(told)
    assert len(others) == (0 if chip == BARE else 2)
    roof, points = (layer["data"]["values"] for layer in roofline.spec["layer"])
    # Both sides of the knee are drawn, wherever the points are.
    assert len(roof) == (2 if np.isinf(bandwidth) else 3)
    for each in roof:
        assert each["throughput"] == pytest.approx(min(peak, bandwidth * each["intensity"]))
    assert len(points) == len(told.found)
    for each in points:
        assert each["throughput"] <= min(peak, bandwidth * each["intensity"]) * (1 + 1e-12)
