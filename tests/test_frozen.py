"""The core gives the figures of the frozen digests, to the last bit."""

from __future__ import annotations

import pytest
from frozen import COUNTS, differing, frozen

# All cases of points stand among the first 24.
FIRST = {"points": 240, "lists": 120, "rows": 10}


@pytest.mark.parametrize("kind", COUNTS)
def test_first_blocks(kind: str) -> None:
    assert differing(kind, range(FIRST[kind])) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", COUNTS)
def test_all_blocks(kind: str) -> None:
    assert len(frozen()[kind]) == COUNTS[kind]
    assert differing(kind, range(COUNTS[kind])) == []
