"""Which of many cases the gate runs; ``make check`` runs all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def few(cases: Iterable[Any], count: int = 1) -> list[Any]:
    """Mark all but the first cases as slow."""
    first, rest = (cases := [*cases])[:count], cases[count:]
    values = (each if isinstance(each, tuple) else (each,) for each in rest)
    return [*first, *(pytest.param(*each, marks=pytest.mark.slow) for each in values)]
