"""Processes that a waiting one starts, and the number of threads for a batch."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from threading import Thread

from maestro_env.base.checks import require_integer
from maestro_env.base.errors import MapSpaceError


@contextmanager
def ctrl_c_held_back() -> Iterator[None]:
    """Let Ctrl-C wait for a moment; processes started in it never see one, the parent does."""
    # Started by the first process, it would let Ctrl-C through again.
    resource_tracker.ensure_running()
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


def end_with_parent(status: int) -> None:
    """Let this process end as soon as the one that started it does, however that ends.

    Args:
        status: exit status of this process then.
    """
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(status)

    Thread(target=follow, daemon=True).start()


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
