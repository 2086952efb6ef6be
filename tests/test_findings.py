"""Inputs that fuzzers found to crash the core."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from maestro_env.base.m_file import wrap_int32
from maestro_env.compat.program import main

MINUS_ONE = "4294967295"


def mapping_file(dims: str) -> str:
    return (
        f"Network n {{ Layer l {{ Type: DSCONV\nDimensions {{ {dims} }}\n"
        "Dataflow { SpatialMap(16,16) C; } } }"
    )


@pytest.mark.parametrize(
    "dims",
    [f"C: 16, R: 1, S: 2, Y': 9, X': {MINUS_ONE}", f"C: 16, R: {MINUS_ONE}, S: 2, Y': 2, X': 9"],
)
def test_an_axis_derived_to_be_empty_divides_by_zero(
    dims: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert wrap_int32(int(MINUS_ONE)) == -1
    monkeypatch.chdir(tmp_path)
    Path("m.m").write_text(mapping_file(dims))
    Path("hw.m").write_text("num_pes: 16")
    assert main(["--Mapping_file=m.m", "--HW_file=hw.m"]) == 128 + signal.SIGFPE
    assert "divides by zero on this mapping" in capsys.readouterr().err
