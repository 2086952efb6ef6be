"""A mapping takes no more instructions than is committed."""

from __future__ import annotations

import pytest
from cpp import compiler_version
from instructions import CASES, SLACK, complaint, figures, missing, per_unit, ratio

ANOTHER = "g++ (another) 1.0"


@pytest.mark.slow
@pytest.mark.skipif(missing() is not None, reason=f"counting instructions {missing()}")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("compiler", [compiler_version(), ANOTHER])
def test_a_mapping_takes_the_committed_instructions(case: str, compiler: str) -> None:
    assert complaint(case, per_unit(case), ratio(case), compiler) is None


@pytest.mark.parametrize("compiler", [*figures()["compilers"], ANOTHER])
@pytest.mark.parametrize("case", CASES)
def test_more_than_the_slack_shows(case: str, compiler: str) -> None:
    known = figures()["compilers"].get(compiler)
    count = known[case] * (1 + SLACK) if known else 1.0
    iterations = figures()["elsewhere"][case]
    assert complaint(case, count * 0.99, iterations * 0.99, compiler) is None
    found = complaint(case, count * 1.01, iterations * 1.01, compiler)
    assert found is not None
    assert case in found
