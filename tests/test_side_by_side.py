"""Mappings evaluated side by side have the rows they have one by one."""

from __future__ import annotations

import subprocess

import pytest
from cpp import program


def test_every_instruction_set_gives_the_rows_of_single_mappings() -> None:
    ended = subprocess.run([str(program("wide").path())], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    if not ended.stdout:
        pytest.skip("this processor evaluates no mappings side by side (needs AVX2)")
    for line in ended.stdout.splitlines():
        _, mappings, waiting = line.split()
        assert int(mappings) > 5_000
        assert 100 < int(waiting) < int(mappings) / 2
