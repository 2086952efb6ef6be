"""Pickles and copies dataclasses that cache objects of the C++ core."""

from __future__ import annotations

from dataclasses import fields
from typing import Any


class Recomputed:
    """A dataclass whose state is its fields; cached values are computed again."""

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
