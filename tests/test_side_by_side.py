"""Mappings evaluated together have the rows they have one by one."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest
from cpp import PRODUCT_FLAGS, program
from frozen import CASES, Block

SANITIZED = (
    *("-std=c++20", "-O1", "-g", "-ffp-contract=off"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
)


@pytest.mark.parametrize("number", range(2 * len(CASES)))
def test_a_vector_has_the_row_of_its_directives(number: int) -> None:
    block = Block.drawn(number)
    figures, statuses = block.rows()
    for point, row, status in list(zip(block.points, figures, statuses, strict=True))[::10]:
        alone = block.evaluator.evaluate_mapping(block.space.native.decode(point))
        np.testing.assert_array_equal(row, alone[0])
        assert status == alone[1]


@pytest.mark.slow
@pytest.mark.parametrize("flags", [PRODUCT_FLAGS, SANITIZED], ids=["product", "sanitized"])
def test_every_instruction_set_gives_the_rows_of_the_general_path(flags: tuple[str, ...]) -> None:
    binary = program("wide", flags=flags).path()
    ended = subprocess.run([str(binary)], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    lines = [line.split() for line in ended.stdout.splitlines()]
    assert [line[:2] for line in lines[:2]] == [["exact", "baseline"], ["maestro", "baseline"]]
    for _, _, mappings, left, _ in lines:
        assert int(mappings) > 5_000
        assert 100 < int(left) < 0.7 * int(mappings)
