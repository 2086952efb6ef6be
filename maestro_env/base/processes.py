"""Processes that are started by one that waits for them: no Ctrl-C of their own, no life after it.

Ctrl-C goes to every process of a terminal. Only the first one answers it, and ends the others.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from threading import Thread


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
