"""How many threads a batch is evaluated with; its results never depend on it."""

from __future__ import annotations

import os

from maestro_env.checks import require_integer
from maestro_env.errors import MapSpaceError

POINTS_A_THREAD = 1024
"""With fewer, waking another thread gains little where the processors have other work too."""

_MAX_THREADS = 1024


def require_threads(value: object) -> int:
    """Return a number of threads.

    Raises:
        MapSpaceError: not an integer from 1 to 1024.
    """
    return require_integer("threads", value, MapSpaceError, most=_MAX_THREADS)


def fitting_threads(points: int) -> int:
    """Return how many threads suit a batch of ``points``.

    One for every 1,024 points, but no more than the processors this process may run on.
    """
    return max(1, min(points // POINTS_A_THREAD, processors(), _MAX_THREADS))


def processors() -> int:
    """Return how many processors this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
