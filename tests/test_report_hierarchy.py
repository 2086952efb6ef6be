"""Reports of accelerators with any memories: the page and the CSV say what the text says."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest

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
word_bits: 16
name: own
memories:
- {memory: DRAM, read_bw: 48, write_bw: 32, read_pj_per_bit: 4, write_pj_per_bit: 5}
- {memory: =SUM, capacity_bits: 16KB, read_pj_per_bit: 0.5, write_pj_per_bit: 0.25}
- {memory: filters, pool: =SUM, keeps: [filter]}
- {fanout: units, size: 4, pj_per_bit: 0.125}
- {memory: spad, capacity_bits: 512B}
mac: {pj: 0.5}
"""
BARE = "word_bits: 4\nmemories: [{memory: DRAM, bw: 8}, {fanout: units, size: 4}, {memory: spad}]"
COUNT = 3


def section(chip: str) -> Section:
    """Random valid mappings of two layers, not what a search would keep."""
    hardware = find_accelerator(read_hierarchy(chip) if "\n" in chip else chip, "hierarchy")
    layers = ["conv:K=8,C=6,Y=12,X=12,R=3,S=3,stride=2", "gemm:M=9,N=10,K=32"]
    found = []
    for problem in make_problems([find_layer(each) for each in layers], hardware, "hierarchy"):
        points = problem.space.sample(40, np.random.default_rng(1))
        for point in points[problem.evaluate(points).status == 0][:4]:
            goal = Goal(problem, find_objective("latency"), 100.0)
            name = f"{problem.layer.operator} {len(found)}"
            found.append(Found(name, goal, point.tolist(), 1.0, 100.0, "random", 1, COUNT, ()))
    assert len(found) > len(layers)
    return Section("any", hardware, tuple(found), (), "", {}, ())


@pytest.mark.parametrize("chip", [*chips_with("memories"), OWN])
def test_bars_and_columns_add_up_to_the_energy(chip: str, tmp_path: Path) -> None:
    told = section(chip)
    charts = {chart.title: chart for chart in charts_of(told)}
    bars = charts["Energy by layer"].spec["data"]["values"]
    for found in told.found:
        drawn = sum(bar["energy"] for bar in bars if bar["layer"].startswith(found.name + ","))
        # The total is that of the C++ core, which does not go by place.
        assert drawn == pytest.approx(COUNT * found.cost.energy_nj)
    by_tensor = charts["Energy by memory and tensor"]
    stacked = sum(bar["energy"] for bar in by_tensor.spec["data"]["values"])
    assert stacked == pytest.approx(sum(COUNT * each.cost.energy_nj for each in told.found))
    assert ("is known of: spad." in by_tensor.note) == (chip == OWN)
    write_report([told], tmp_path / "report.csv")
    with (tmp_path / "report.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row, found in zip(rows, told.found, strict=True):
        spent = [float(row[name]) for name in row if name.endswith("_energy_nj")]
        assert sum(spent) == pytest.approx(float(row["energy_nj"]))
        assert float(row["gap"]) == pytest.approx(max(found.cost.latency_cycles / 100 - 1, 0))
    # One text, as they take long.
    lines = r"^  (?:input|filter|output) +([\d,]+) +[\d,]+ +\S+ times$"
    words = re.findall(lines, told.found[0].explanation, re.MULTILINE)
    moved = sum(int(each.replace(",", "")) for each in words)
    intensity = float(rows[0]["macs_per_offchip_word"])
    assert intensity == pytest.approx(int(rows[0]["macs"]) / moved)
    empty = {name for row in rows for name, cell in row.items() if not cell}
    # All of time need a clock.
    assert empty <= {"latency_ms", "inferences_per_second"}
    assert not [name for name in rows[0] if name.startswith("=")]


@pytest.mark.parametrize(
    ("chip", "peak", "bandwidth"),
    # The files in words: 75.4 bits of 8 a cycle; no limit; (48 + 32) / 16 and 8 / 4.
    [("gemmini", 256, 75.4 / 8), ("eyeriss", 168, np.inf), (OWN, 4, 5), (BARE, 4, 2)],
)
def test_no_point_is_above_the_roof(chip: str, peak: int, bandwidth: float) -> None:
    told = section(chip)
    roofline, *others = charts_of(told)
    assert [each.title for each in others][:1] == ([] if chip == BARE else ["Energy by layer"])
    roof, points = (layer["data"]["values"] for layer in roofline.spec["layer"])
    assert len(points) == len(told.found)
    assert [each["throughput"] for each in roof] == [
        pytest.approx(min(peak, bandwidth * each["intensity"])) for each in roof
    ]
    # Both sides of the knee are drawn, wherever the points are.
    assert len(roof) == (2 if np.isinf(bandwidth) else 3)
    for point in points:
        limit = min(peak, bandwidth * point["intensity"])
        assert point["throughput"] <= limit * (1 + 1e-12)
