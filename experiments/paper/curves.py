"""What result files keep of curves."""

from __future__ import annotations

import numpy as np

_POINTS = 40


def log_spaced(windows: int) -> list[int]:
    """Return some of so many windows, the last one among them, evenly on a logarithmic axis."""
    indices = np.geomspace(1, windows, _POINTS).round().astype(int) - 1
    return list(dict.fromkeys(indices.tolist()))
