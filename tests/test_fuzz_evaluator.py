"""The evaluator survives some seconds of libFuzzer."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from fuzz_evaluator import TARGETS, command, missing, target

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(missing() is not None, reason=f"libFuzzer {missing()}"),
]


@pytest.mark.parametrize("driver", TARGETS)
def test_no_finding(driver: str, tmp_path: Path) -> None:
    ended = subprocess.run(command(target(driver), 20, tmp_path), capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
