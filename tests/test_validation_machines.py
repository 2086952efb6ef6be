"""VTA's and MoCA's measured layers: how rows become mappings, what they cost, what is left out."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import validation
from hypothesis import given
from hypothesis import strategies as st

from maestro_env.accelerators.elements import MemoryElement
from maestro_env.experiments.commands.validation import moca, vta
from maestro_env.experiments.commands.validation.agreement import cost_of
from maestro_env.experiments.commands.validation.gemmini import fitted, unfitted
from maestro_env.experiments.commands.validation.moca import (
    Convolution,
    convolution_tile,
    product_tile,
)
from maestro_env.experiments.shell.files import RecordError

ROWS, SUMS = 4096, 512  # half of MoCA's scratchpad and accumulator
# ResNet-18's 3 x 3 layer of 64 channels, with a schedule of TopHub's.
NAMES = ("id", "network", "operator")
VTA: dict[str, Any] = {
    **dict(zip(NAMES, ("a", "Resnet-18", "conv2d"), strict=True)),
    "board": "pynq",
    "core": "1x16x16",
    "session": "jul",
    "passes": 3,
    "lanes": 16,
    **dict.fromkeys(("N", "G", "stride_y", "stride_x", "tile_n"), 1),
    "tile_c": 16,
    "K": 64,
    "C": 64,
    "R": 3,
    "S": 3,
    "P": 56,
    "Q": 56,
    "tile_p": 8,
    "tile_q": 56,
    "tile_k": 32,
    "seconds": 0.006,
}
MOCA: dict[str, Any] = {
    **dict(zip(NAMES, ("a", "ResNet-50", "conv2d"), strict=True)),
    **dict.fromkeys(("N", "stride", "padding", "pool_size", "pool_stride"), 1),
    "K": 64,
    "C": 64,
    "R": 3,
    "S": 3,
    "P": 56,
    "Q": 56,
    "pooled": 56,
    "cycles_median": 472_700,
    "own_prediction": 479_539,
}


def write(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    with path.open("w", newline="") as file:
        file.write("# facts, with their source\n")
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


# --- VTA ----------------------------------------------------------------------------------------


@pytest.fixture
def layers(tmp_path: Path) -> list[vta.Layer]:
    serial = {"id": "b", "session": "aug", "lanes": 1, "tile_c": 32, "tile_p": 4}
    images = {"id": "c", "core": "4x8x8", "N": 4, "passes": 4, "lanes": 8, "tile_k": 16}
    images |= {"tile_n": 4, "tile_c": 8}
    groups = {"id": "d", "operator": "group_conv2d", "G": 4, "K": 16, "C": 16, "tile_k": 16}
    rows = [VTA, *({**VTA, **each} for each in (serial, images, groups))]
    return vta.read_layers(write(tmp_path / "rows.csv", rows))[0]


def test_a_schedule_becomes_a_mapping_of_its_core(layers: list[vta.Layer]) -> None:
    # Blocks of 16 channels and filters, or 8 of four images, at every output and tap.
    assert [each.chip for each in layers] == ["vta", "vta", "vta_4x8", "vta"]
    outputs = [4 * 56 * 56, 4 * 56 * 56, 8 * 56 * 56, 4 * 56 * 56]
    blocks = [9 * 4, 9 * 4, 9 * 8, 9]
    finish = [7, 52, 9, 7]
    for layer, count, taps, cycles in zip(layers, outputs, blocks, finish, strict=True):
        without = cost_of(layer, vta.machine(layer, finish=False))
        assert without.compute_cycles == count * taps
        assert layer.finish_cycles() == cycles
        assert cost_of(layer, vta.machine(layer)).compute_cycles == count * (taps + cycles)
        assert layer.cycles == pytest.approx(600_000)
    # Every tile of filters is loaded for every tile of rows.
    cost = cost_of(layers[0], vta.machine(layers[0]))
    moved = {each.tensor: each.parent_words for each in cost.traffic if each.parent == "DRAM"}
    assert moved == {
        "input": 2 * (8 * 7 + 2 * 7) * 58 * 64,
        "filter": 7 * 9 * 64 * 64,
        "output": 64 * 56 * 56,
    }


@pytest.mark.slow
def test_constants_are_found_again(layers: list[vta.Layer]) -> None:
    wanted = {"bits_per_cycle": 20.0, "launch_cycles": 2000.0, "depth": 12.0}
    cycles = vta.latencies(layers, constants=wanted)
    rows = [replace(row, cycles=each) for row, each in zip(layers, cycles, strict=True)]
    assert vta.latencies(rows, constants=vta.fit(rows)) == pytest.approx(cycles, rel=1e-3)


def test_the_command_names_what_it_leaves_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Fits have a test of their own.
    constants = {"bits_per_cycle": 32.0, "launch_cycles": 1000.0, "depth": 10.0}
    monkeypatch.setattr(vta, "fit", lambda _: constants)
    sizes = [(p, s) for s in (0.006, 0.007, 0.008, 0.009) for p in (8, 7, 4, 2)]
    rows = [{**VTA, "id": f"r{n}", "tile_p": p, "seconds": s} for n, (p, s) in enumerate(sizes)]
    others = [{**VTA, "id": "u", "board": "ultra96"}, {**VTA, "id": "t", "operator": "dense"}]
    assert validation(["vta", f"--rows={write(tmp_path / 'rows.csv', rows + others)}"]) == 0
    shown = capsys.readouterr().out
    assert "16 convolutions on VTA, nothing fitted" in shown
    assert shown.count("Fitted on 8 rows: bits_per_cycle 32, launch_cycles 1000, depth 10") == 2
    assert "hierarchy without finish_cycles" in shown
    assert "u    its log does not name core and clock" in shown
    assert "t    dense: the rows are convolutions" in shown
    with pytest.raises(RecordError, match="no convolution without groups on a pynq board"):
        vta.read_layers(write(tmp_path / "others.csv", others))


def test_few_rows_are_not_fitted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert validation(["vta", f"--rows={write(tmp_path / 'rows.csv', [VTA])}"]) == 0
    shown = capsys.readouterr().out
    assert "1 convolutions on VTA" in shown
    assert "Fitted" not in shown
    assert "not scored" not in shown


# --- MoCA ---------------------------------------------------------------------------------------


def test_its_software_chooses_these_tiles() -> None:
    # Of gemmini-rocc-tests 691e5475: ResNet-50's layers 1 and 3, and one more of SqueezeNet.
    first = Convolution({"N": 1, "P": 56, "Q": 56, "K": 64, "R": 7, "S": 7, "C": 3}, 2, 3, 3, 2)
    assert tuple(convolution_tile(first)[dim] for dim in "NPQKRSC") == (1, 6, 16, 16, 7, 7, 3)
    third = Convolution({"N": 1, "P": 56, "Q": 56, "K": 64, "R": 3, "S": 3, "C": 64}, 1, 1)
    assert tuple(convolution_tile(third)[dim] for dim in "NPQKRSC") == (1, 8, 16, 64, 3, 3, 64)
    # Of 32 blocks each of the two, 5 x 5 and 25, then as many as half of the memories has room for.
    assert product_tile(512, 512, 512) == (80, 80, 400)


SIZES = st.fixed_dictionaries(
    {dim: st.integers(1, 200) for dim in "KC"} | {dim: st.integers(1, 60) for dim in "PQ"}
)


@given(SIZES, st.sampled_from([1, 3, 5, 7]), st.integers(1, 2), st.sampled_from([(1, 1), (3, 2)]))
def test_a_tile_is_a_part_of_the_layer_that_fits_half_of_the_memories(
    sizes: dict[str, int], window: int, stride: int, pool: tuple[int, int]
) -> None:
    extents = {"N": 1, "R": window, "S": window} | sizes
    tile = convolution_tile(Convolution(extents, stride, 1, *pool))
    assert all(1 <= tile[dim] <= extents[dim] for dim in extents)
    height, width = (
        (tile[dim] * pool[1] + pool[0] - 1) * stride + tile[taps] - 1 for dim, taps in ("PR", "QS")
    )
    channels, filters = math.ceil(tile["C"] / 16), math.ceil(tile["K"] / 16)
    words = channels * height * width + filters * tile["R"] * tile["S"] * tile["C"]
    assert words <= ROWS
    rows, columns = (tile[dim] * pool[1] + pool[0] - 1 for dim in "PQ")
    assert filters * rows * columns <= SUMS


@given(st.integers(1, 3000), st.integers(1, 3000), st.integers(1, 3000))
def test_a_products_tile_cannot_grow(rows: int, columns: int, inner: int) -> None:
    i, j, k = (each // 16 for each in product_tile(rows, columns, inner))

    def fits(i: int, j: int, k: int) -> bool:
        inside = max(i - 1, 0) * 16 < rows and (j - 1) * 16 < columns and (k - 1) * 16 < inner
        return inside and (i + j) * k * 16 <= ROWS and i * j * 16 <= SUMS

    assert fits(i, j, k)
    assert not any(fits(*each) for each in ((i + 1, j, k), (i, j + 1, k), (i, j, k + 1)))


def test_pooled_tiles_compute_what_they_share_twice(tmp_path: Path) -> None:
    pooled = {"R": 7, "S": 7, "C": 3, "P": 112, "Q": 112, "stride": 2, "padding": 3}
    pooled |= {"pool_size": 3, "pool_stride": 2, "pooled": 56}
    (layer,) = moca.read_layers(write(tmp_path / "rows.csv", [{**MOCA, **pooled}]))
    # For 6 x 16 pooled outputs it computes 14 x 34: nine tiles and two rows, three and a half.
    extents = {dim: layer.shape.extents[dim] for dim in "PQ"}
    assert extents == {"P": 9 * 14 + 2 * 2 + 2, "Q": 3 * 34 + 8 * 2 + 2}
    assert layer.tiles == 10 * 4 * 4


def test_rows_that_cannot_be_true_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fast = {**MOCA, "id": "fast", "cycles_median": 100_000}
    few = {**MOCA, "id": "few", "P": 8, "Q": 8, "pooled": 8, "cycles_median": 100_000}
    product = {**MOCA, "id": "product", "operator": "gemm", "P": 64, "Q": 1, "R": 1, "S": 1}
    path = write(tmp_path / "rows.csv", [MOCA, {**MOCA, "id": "again"}, fast, few, product])
    flaws = {each.name: each.flaw.split(":")[0] for each in moca.read_layers(path)}
    assert flaws == {"a": "", "again": "", "fast": "impossible", "few": "untimed", "product": ""}
    assert validation(["gemmini-moca", f"--rows={path}"]) == 0
    shown = capsys.readouterr().out
    assert "2 layers on MoCA's Gemmini" in shown
    assert "fast  impossible: more than 256 MACs a cycle" in shown
    assert "few   untimed: few tiles" in shown


def test_its_machine_is_gemmini_with_another_scratchpad_and_cache() -> None:
    for gemmini in (fitted(), unfitted()):
        changed = {
            each.name
            for each, other in zip(gemmini.elements, moca.moca(gemmini).elements, strict=True)
            if each != other
        }
        cached = isinstance(gemmini.elements[0], MemoryElement) and gemmini.elements[0].cache
        assert changed == {"scratchpad"} | ({"DRAM"} if cached else set())


# --- Both ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "row", "cells", "named"),
    [
        ("vta", VTA, {"K": "many"}, "row 1: K is 'many'; allowed: integers from 1 to 65536"),
        ("vta", VTA, {"core": "2x2"}, "core is '2x2'; allowed: 1x16x16, 4x8x8"),
        ("vta", VTA, {"lanes": 5}, "lanes is '5'; allowed: 1, 16"),
        (
            "vta",
            VTA,
            {"tile_c": 64, "tile_p": 56, "tile_k": 64},
            "bits of inputs, which has 262,144",
        ),
        ("vta", MOCA, {}, "row 1: has no column core; docs/validation.md names"),
        ("gemmini-moca", MOCA, {"operator": "CONV"}, "operator is 'CONV'; allowed: conv2d, gemm"),
        ("gemmini-moca", MOCA, {"padding": "-1"}, "padding is '-1'; allowed: integers from 0"),
        ("gemmini-moca", MOCA, {"stride": 32}, "row a: no tile of {"),
        ("gemmini-moca", MOCA, {"C": 3, "padding": 0, "K": 4096, "pooled": 112}, "no tile of {"),
        ("gemmini-moca", MOCA, {"cycles_median": ""}, "cycles_median is ''; allowed: numbers"),
    ],
)
def test_other_rows_are_refused(
    action: str,
    row: dict[str, Any],
    cells: dict[str, Any],
    named: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = write(tmp_path / "rows.csv", [{**row, **cells}])
    assert validation([action, f"--rows={path}"]) == 2
    assert named in capsys.readouterr().err


def test_rows_have_to_be_given(capsys: pytest.CaptureFixture[str]) -> None:
    for action in ("vta", "gemmini-moca"):
        assert validation([action]) == 2
        assert "--rows is missing" in capsys.readouterr().err
