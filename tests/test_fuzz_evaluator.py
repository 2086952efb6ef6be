"""The evaluator survives some seconds of libFuzzer, which would see a last bit that differs."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from cpp import ROOT
from fuzz_evaluator import batches_target, command, lists_target, missing, plain_library

CONSTANTS = "native/constants.hpp"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(missing() is not None, reason=f"libFuzzer {missing()}"),
]


@pytest.mark.parametrize("points", [False, True])
def test_no_finding(points: bool, tmp_path: Path) -> None:
    program = batches_target() if points else lists_target(plain_library().path())
    ended = subprocess.run(command(program, 20, tmp_path), capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


def test_a_difference_is_found(tmp_path: Path) -> None:
    source = (ROOT / CONSTANTS).read_text(encoding="utf-8")
    other, changes = re.subn(r"(kL1AccessMacs = 1\.68)", r"\g<1>0000000000001", source)
    assert changes == 1
    constants = tmp_path / "constants.hpp"
    constants.write_text(other, encoding="utf-8")
    build = plain_library()
    program = lists_target(replace(build, tree={**build.tree, CONSTANTS: constants}).path())
    ended = subprocess.run(command(program, 60, tmp_path), capture_output=True, text=True)
    assert ended.returncode != 0
    assert "the plain core says otherwise" in ended.stderr
