"""Pickles and copies dataclasses that cache objects of the C++ core."""

from __future__ import annotations

from dataclasses import fields
from types import MappingProxyType
from typing import Any


class Recomputed:
    """A dataclass whose state is its fields; cached values are computed again."""

    def __reduce__(self) -> tuple[Any, ...]:
        values = [getattr(self, field.name) for field in fields(self)]  # type: ignore[arg-type]
        # Read-only mappings cannot be pickled.
        copied = (dict(each) if isinstance(each, MappingProxyType) else each for each in values)
        return type(self), tuple(copied)
