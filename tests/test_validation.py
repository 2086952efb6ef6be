"""Measurements beside the model: the layers are those measured, and no time is below the peak."""

from __future__ import annotations

import pytest
from commands import validation

from experiments.commands.validation.eyeriss import BATCH, MEASURED
from maestro_env.accelerators.chips import CHIPS

EYERISS = CHIPS["eyeriss"].hardware


def test_the_layers_are_those_of_alexnet() -> None:
    millions = [round(each.layer.macs / BATCH / 1e6, 1) for each in MEASURED]
    assert millions == [105.4, 223.9, 149.5, 112.1, 74.8]


def test_no_measurement_is_faster_than_the_active_pes() -> None:
    for each in MEASURED:
        assert each.active_pes <= EYERISS.num_pes
        assert each.processing_ms >= each.layer.macs / each.active_pes / EYERISS.clock_mhz / 1000


def test_the_command_sets_all_layers_beside_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert validation(["--nodes", "2000"]) == 0
    shown = capsys.readouterr().out
    rows = [line.split() for line in shown.splitlines() if line.strip().startswith("CONV")]
    assert [row[0] for row in rows] == [each.layer.name for each in MEASURED]
    for row, each in zip(rows, MEASURED, strict=True):
        peak, model, measured = (float(row[column]) for column in (2, 3, 5))
        assert peak <= model
        assert measured == each.processing_ms


def test_too_few_boxes_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert validation(["--nodes", "0"]) == 2
    assert capsys.readouterr().err == "error: --nodes 0: too few to find a mapping; give more\n"
