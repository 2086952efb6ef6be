"""Threads of a batch, on whose number no result depends, and processes that end with their parent.

Ctrl-C goes to every process of a terminal. Only the first one answers it, and ends the others.
What only processes need is imported late.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

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


@contextmanager
def ctrl_c_held_back() -> Iterator[None]:
    """Let Ctrl-C wait for a moment; processes started in it never see one, the parent does."""
    from multiprocessing import resource_tracker

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
    from multiprocessing import parent_process
    from threading import Thread

    parent = parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(status)

    Thread(target=follow, daemon=True).start()
