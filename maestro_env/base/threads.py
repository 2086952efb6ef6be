"""The number of threads for a batch; results do not depend on it."""

from __future__ import annotations

import os

from maestro_env.base.checks import require_integer
from maestro_env.base.errors import MapSpaceError

POINTS_A_THREAD = 1024
"""With fewer points a thread, waking one gains little on a machine under other load."""

_MAX_THREADS = 1024


def require_threads(value: object) -> int:
    """Return an integer from 1 to 1024, or raise a ``MapSpaceError``."""
    return require_integer("threads", value, MapSpaceError, most=_MAX_THREADS)


def fitting_threads(points: int) -> int:
    """Return the number of threads that suits a batch of ``points``.

    One per 1,024 points, but no more than the processors that this process may use.
    """
    return max(1, min(points // POINTS_A_THREAD, processors(), _MAX_THREADS))


def processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
