"""Mappings evaluated side by side have the rows they have one by one."""

from __future__ import annotations

import subprocess

import pytest
from cpp import PRODUCT_FLAGS, program

SANITIZED = (
    *("-std=c++20", "-O1", "-g", "-ffp-contract=off"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
)


@pytest.mark.parametrize(
    "flags",
    [
        pytest.param(PRODUCT_FLAGS, id="product"),
        pytest.param(SANITIZED, id="sanitized", marks=pytest.mark.slow),
    ],
)
def test_every_instruction_set_gives_the_rows_of_the_general_path(flags: tuple[str, ...]) -> None:
    binary = program("wide", flags=flags).path()
    ended = subprocess.run([str(binary)], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    lines = [line.split() for line in ended.stdout.splitlines()]
    assert [line[:2] for line in lines[:2]] == [["exact", "baseline"], ["maestro", "baseline"]]
    for _, _, mappings, left in lines:
        assert int(mappings) > 5_000
        assert 100 < int(left) < 0.7 * int(mappings)
