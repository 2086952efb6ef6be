"""Work done by several processes, none of which outlives this one."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from threading import Thread
from typing import TypeVar

from experiments import cli
from maestro_env.errors import MaestroEnvError

Work = TypeVar("Work")
Result = TypeVar("Result")


class WorkerDiedError(MaestroEnvError, RuntimeError):
    """A process was killed, or crashed."""


def run_all(
    function: Callable[[Work], Result],
    works: Sequence[Work],
    jobs: int,
    begin: Callable[[Work], None],
    end: Callable[[Work, Result], None],
) -> None:
    """Apply a function to works, in this process if one job is enough.

    Args:
        function: that new processes can import.
        works: what it is applied to, in this order.
        jobs: how many are under way at a time.
        begin: called before a work.
        end: called after a work, with what came of it.

    Raises:
        WorkerDiedError: a process did not survive its work.
        Exception: whatever the function raises.
    """
    if min(jobs, len(works)) > 1:
        _run_in_processes(function, works, jobs, begin, end)
        return
    for work in works:
        begin(work)
        end(work, function(work))


def _run_in_processes(
    function: Callable[[Work], Result],
    works: Sequence[Work],
    jobs: int,
    begin: Callable[[Work], None],
    end: Callable[[Work, Result], None],
) -> None:
    waiting = iter(works)
    running: dict[Future[Result], Work] = {}
    pool = ProcessPoolExecutor(
        min(jobs, len(works)), multiprocessing.get_context("spawn"), _follow_parent
    )

    def start(most: int) -> None:
        for work in islice(waiting, most):
            begin(work)
            with _ctrl_c_held_back():
                running[pool.submit(function, work)] = work

    try:
        start(jobs)
        while running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                result = future.result()
                end(running.pop(future), result)
                start(1)
    except BaseException as error:
        with cli.undisturbed():
            for process in multiprocessing.active_children():
                process.terminate()
        if isinstance(error, BrokenProcessPool):
            raise WorkerDiedError("a process died in the middle of its work") from None
        raise
    finally:
        with cli.undisturbed():
            pool.shutdown(cancel_futures=True)


def _follow_parent() -> None:
    """End this process when its parent ends, however that does."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)

    Thread(target=follow, daemon=True).start()


@contextmanager
def _ctrl_c_held_back() -> Iterator[None]:
    """Let Ctrl-C wait for a moment; processes started in it never see one, the parent does."""
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
