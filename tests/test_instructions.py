"""A mapping takes no more instructions than is committed."""

from __future__ import annotations

import pytest
from cpp import compiler_version
from instructions import CASES, complaint, missing, per_unit, ratio

ANOTHER = "g++ (another) 1.0"


@pytest.mark.slow
@pytest.mark.skipif(missing() is not None, reason=f"counting instructions {missing()}")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("compiler", [compiler_version(), ANOTHER])
def test_a_mapping_takes_the_committed_instructions(case: str, compiler: str) -> None:
    assert complaint(case, per_unit(case), ratio(case), compiler) is None
