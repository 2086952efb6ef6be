"""Gemmini's measured mappings: how they are read, what they cost, how constants are fitted."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from commands import validation
from hypothesis import given
from hypothesis import strategies as st

from maestro_env.experiments.commands.validation.gemmini import (
    MODEL,
    Constants,
    Measured,
    bound,
    costs,
    described,
    fit,
    fitted,
    latencies,
    read_measured,
    unfitted,
)

DIMS = "NCKPQRS"
CONV = "L3[WIO] C2 Q3 - L2[WI] N1 K16X - L1[O] K2 R3 S3 P9 C8X - L0[W] Q3"
TEXTS = [
    CONV,
    "L3[WIO] K2 P3 - L2[WI] N1 K16X - L1[O] R3 S3 Q9 C16X - L0[W] P3",
    "L3[WIO] P9 - L2[WI] N1 K12X - L1[O] K2 R3 S3 C4 Q9 C16X - L0[W] N1",
    "L3[WIO] C64 - L2[WI] N1 K16X - L1[O] K16 Q7 C16X - L0[W] P7",
    "L3[WIO] K8 R3 - L2[WI] N1 K16X - L1[O] C8 S3 Q5 P5 C16X - L0[W] N1",
    "L3[WIO] Q4 P4 K4 - L2[WI] N1 K8X - L1[O] C16 Q7 P7 C8X - L0[W] N1",
]


def write(path: Path, texts: Sequence[str], cycles: Sequence[float], **cells: object) -> Path:
    """Write a file of mappings as DOSA has it; the layers are those that they map."""
    rows = []
    for text, each in zip(texts, cycles, strict=True):
        loops = [word.rstrip("X") for word in text.split() if word[0] in DIMS]
        row: dict[str, object] = {"mapping.mapping": text, "target.gemmini_cycle": each}
        row |= {
            f"prob.{dim}": math.prod(int(loop[1:]) for loop in loops if loop[0] == dim)
            for dim in DIMS
        }
        row |= {"prob.Wstride": 1, "prob.Hstride": 1, "target.cycle": each / 2}
        rows.append({**row, **cells})
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture
def measured(tmp_path: Path) -> list[Measured]:
    return read_measured(write(tmp_path / "rows.csv", TEXTS, [1e6] * len(TEXTS)))


def test_a_mapping_is_read(measured: list[Measured]) -> None:
    row = measured[0]
    assert row.shape.extents == {"N": 1, "C": 16, "K": 32, "P": 9, "Q": 9, "R": 3, "S": 3}
    assert row.tile == {"N": 1, "C": 8, "K": 32, "P": 9, "Q": 3, "R": 3, "S": 3}
    assert (row.order, row.units) == (["C", "Q"], 16)
    assert row.blocks == 6 * 2 * 9
    assert [each.trains for each in measured] == [True] * 5 + [False]


SIZES = st.fixed_dictionaries({dim: st.integers(1, 40) for dim in "CKPQ"})
TILES = st.fixed_dictionaries({dim: st.integers(1, 3) for dim in "CKPQRS"})


@given(SIZES, TILES)
def test_the_array_takes_each_block_past_each_row(
    tmp_path_factory: pytest.TempPathFactory, tile: dict[str, int], counts: dict[str, int]
) -> None:
    outer, inner = (
        " ".join(f"{dim}{count}" for dim, count in each.items()) for each in (counts, tile)
    )
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    text = f"L3[WIO] {outer} - L2[WI] N1 - L1[O] {inner} - L0[W] N1"
    (row,) = read_measured(write(path, [text], [1.0]))
    (cost,) = costs([row], unfitted())
    rows = max(tile["P"], 4)
    # The same block may stay for the next tile.
    blocks = math.prod(counts.values()) * -(-tile["C"] // 16) * -(-tile["K"] // 16)
    assert row.blocks == blocks
    most = blocks * (tile["Q"] * rows + max(0, 16 - rows))
    one = tile["C"] <= 16 and tile["K"] <= 16
    least = blocks * tile["Q"] * rows if one else most
    assert least <= cost.compute_cycles <= most
    assert bound([row])[0] <= cost.latency_cycles
    assert row.shape.macs / 256 <= bound([row])[0]


def test_the_constants_are_those_of_the_description() -> None:
    constants = Constants(80.5, 3.44, 203, step_cycles=7, cache_mib=1)
    assert described(constants) == fitted()


@pytest.mark.slow
def test_constants_are_found_again(measured: list[Measured]) -> None:
    wanted = Constants(50.0, 5.0, 300.0, step_cycles=7, cache_mib=0.25)
    cycles = MODEL.predict(measured, wanted)
    rows = [replace(row, cycles=each) for row, each in zip(measured, cycles, strict=True)]
    found = fit(MODEL, rows, (0.25,))
    assert found.step_cycles == 7
    assert MODEL.predict(rows, found) == pytest.approx(cycles, rel=1e-3)


def test_the_command_compares_models(
    measured: list[Measured], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "rows.csv", TEXTS, latencies(measured, fitted()).tolist())
    assert validation(["gemmini", f"--rows={path}"]) == 0
    shown = {
        line.rsplit("  ", 20)[0].strip().split("  ")[0]: line.split()[-7:]
        for line in capsys.readouterr().out.splitlines()
    }
    assert shown["hierarchy"] == ["1.0000", "0.0", "1.00", "100", "100", "1.00-1.00", "0"]
    assert shown["Timeloop"] == ["1.0000", "50.0", "2.00", "0", "0", "2.00-2.00", "0"]
    assert np.float64(shown["MACs / 256"][2]) > 1


@pytest.mark.parametrize(
    ("text", "cells", "told"),
    [
        ("L3[WIO] C2 Z3", {}, "'L3[WIO] C2 Z3'; allowed: such as L3[WIO] K48 C2X"),
        ("L3[WIO] C2 - K16X", {}, "has the level 'K16X'; allowed: such as"),
        (CONV, {"prob.C": 15}, "'C': 16, "),
        (CONV, {"prob.K": "many"}, "row 1: prob.K is 'many'; allowed: integers from 1 to"),
        (CONV, {"target.gemmini_cycle": ""}, "target.gemmini_cycle is ''; allowed: numbers"),
        (CONV, {"prob.Wstride": 0}, "prob.Wstride is '0'; allowed: integers from 1"),
    ],
)
def test_other_rows_are_refused(
    text: str,
    cells: dict[str, object],
    told: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = write(tmp_path / "rows.csv", [text], [1.0], **cells)
    assert validation(["gemmini", f"--rows={path}"]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1


def test_flags_of_the_other_chip_and_missing_rows_are_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert validation(["gemmini"]) == 2
    assert "--rows is missing: give the CSV file" in capsys.readouterr().err
    assert validation(["eyeriss", "--rows=a.csv"]) == 2
    assert "--rows: eyeriss takes only --nodes" in capsys.readouterr().err
    assert validation(["gemini"]) == 2
    assert "did you mean gemmini" in capsys.readouterr().err
