"""What differs between two results: integers exactly, floats to 1e-12, nothing missing."""

from __future__ import annotations

import math
from typing import Any

_ABSENT = "absent"


def differences(got: Any, want: Any, where: str = "") -> list[str]:
    """Describe every value that differs, by its path."""
    if isinstance(want, dict) and isinstance(got, dict):
        return [
            text
            for key in sorted(want.keys() | got.keys())
            for text in differences(got.get(key, _ABSENT), want.get(key, _ABSENT), f"{where}.{key}")
        ]
    if isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        pairs = enumerate(zip(got, want, strict=True))
        return [text for i, (g, w) in pairs for text in differences(g, w, f"{where}[{i}]")]
    if isinstance(want, float) and isinstance(got, float):
        same = math.isclose(got, want, rel_tol=1e-12, abs_tol=0)
    else:
        same = type(got) is type(want) and got == want
    return [] if same else [f"{where}: {got!r}, expected {want!r}"]
