"""The core gives the figures of the frozen digests, to the last bit."""

from __future__ import annotations

import hashlib

import pytest
from frozen import COUNTS, DIGESTS, differing, frozen

from maestro_env.evaluation.models import FIGURES_VERSION

# All cases of points stand among the first 24.
FIRST = {"points": 96, "lists": 48, "rows": 4}


@pytest.mark.parametrize("kind", COUNTS)
def test_first_blocks(kind: str) -> None:
    assert differing(kind, range(FIRST[kind])) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", COUNTS)
def test_all_blocks(kind: str) -> None:
    assert len(frozen()[kind]) == COUNTS[kind]
    assert differing(kind, range(COUNTS[kind])) == []


def test_other_figures_have_another_version() -> None:
    files = (DIGESTS, DIGESTS.with_name("hierarchy_rows.jsonl.xz"))
    found = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]
    told = "raise FIGURES_VERSION if a mapping has another figure, and keep both here"
    assert (FIGURES_VERSION, found) == ("1", "83a1b29046400dc6"), told
