"""Measurements beside the models: the layers are those measured, and no time is below the peak."""

from __future__ import annotations

import pytest
from commands import validation

from maestro_env.accelerators.finding import find_hardware
from maestro_env.experiments.commands.validation.eyeriss import (
    BATCH,
    MAPPINGS,
    MEASURED,
    chip,
    predict,
)

EYERISS = find_hardware("eyeriss")
TOTAL_MS = (20.9, 41.9, 23.6, 18.4, 10.5)
"""With loading, from the table that the other measurements are from."""


def test_the_layers_are_those_of_alexnet() -> None:
    millions = [round(each.layer.macs / BATCH / 1e6, 1) for each in MEASURED]
    assert millions == [105.4, 223.9, 149.5, 112.1, 74.8]


def test_no_measurement_is_faster_than_the_active_pes() -> None:
    for each in MEASURED:
        assert each.active_pes <= EYERISS.num_pes
        assert each.processing_ms >= each.layer.macs / each.active_pes / EYERISS.clock_mhz / 1000


def test_the_layers_reproduce_the_totals_of_the_paper() -> None:
    assert all(each.processing_ms < ms for each, ms in zip(MEASURED, TOTAL_MS, strict=True))
    assert round(BATCH / sum(TOTAL_MS) * 1000, 1) == 34.7
    assert round(sum(each.layer.macs for each in MEASURED) / sum(TOTAL_MS) / 1e6, 1) == 23.1
    assert round(sum(each.offchip_mb for each in MEASURED), 1) == 15.4


def test_row_stationary_mappings_move_the_words_of_passes() -> None:
    for measured, each in zip(MEASURED, MAPPINGS, strict=True):
        layer, words = measured.layer, predict(measured, each).accesses
        groups, images = layer.extents.get("G", 1), BATCH / each.n
        channel_passes = layer.extents["C"] / (each.q * each.r)
        # Sums come from the array in every pass over channels, and go back in all but the first.
        assert words["glb", "output"] == 2 * layer.output_words * channel_passes
        # The buffer sends inputs to each group of p t filters, and gets them for each of m.
        window, stride = layer.extents["R"], layer.stride[0]
        outputs = (layer.extents["Y"] - window) // stride + 1
        strips = [min(each.e, outputs - first) for first in range(0, outputs, each.e)]
        rows = sum((strip - 1) * stride + window for strip in strips)
        inputs = BATCH * groups * layer.extents["C"] * rows * layer.extents["X"]
        assert words["DRAM", "input"] == inputs * layer.extents["K"] / each.m
        sent = inputs * layer.extents["K"] / (each.p * each.t)
        assert words["glb", "input"] == sent + words["DRAM", "input"]
        assert words["DRAM", "filter"] == layer.filter_words * images * len(strips)
        assert words["DRAM", "output"] == layer.output_words


def test_row_stationary_mappings_keep_the_measured_pes_at_work() -> None:
    for measured, each in zip(MEASURED, MAPPINGS, strict=True):
        cost = predict(measured, each)
        assert cost.status == "ok"
        cycles = cost.compute_cycles
        # The last strip of CONV1 has six rows of outputs in place of seven.
        idle = 55 / 56 if measured.layer.name == "CONV1" else 1
        assert measured.layer.macs / cycles == pytest.approx(measured.active_pes * idle)
        assert cycles / chip().clock_mhz / 1000 < measured.processing_ms


def test_the_command_sets_all_layers_beside_the_models(capsys: pytest.CaptureFixture[str]) -> None:
    assert validation(["--nodes", "2000"]) == 0
    shown = capsys.readouterr().out
    rows = [line.split() for line in shown.splitlines() if line.strip().startswith("CONV")]
    names = [each.layer.name for each in MEASURED]
    assert [row[0] for row in rows] == [*names, "CONV3", *names]
    for row in rows[:6]:
        model, measured, ratio = (float(row[column]) for column in (9, 10, 11))
        assert ratio == pytest.approx(measured / model, abs=0.01)
    for row, each in zip(rows[6:], MEASURED, strict=True):
        peak, model, measured = (float(row[column]) for column in (2, 3, 5))
        assert peak <= model
        assert measured == each.processing_ms


def test_too_few_boxes_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert validation(["--nodes", "0"]) == 2
    assert capsys.readouterr().err == "error: --nodes 0: too few to find a mapping; give more\n"
