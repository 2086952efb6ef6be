"""Running the searches that are not finished yet, beside other processes that do the same.

Jobs are processes that share the directory as any others would: claims say who runs what.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import wait
from pathlib import Path
from threading import Thread
from typing import Protocol

from experiments import cli
from experiments.claims import Claim
from experiments.progress import Bar
from maestro_env.errors import MaestroEnvError

_SECONDS_BETWEEN_LOOKS = 0.2

Show = Callable[[float, str], None]
"""Shows how much is done, and a note."""


class Work(Protocol):
    """A search that writes a record; its text names it. It is pickled for other processes."""

    @property
    def again(self) -> str:
        """What runs it again, for messages."""

    @property
    def path(self) -> Path:
        """Where the record is once the search has ended."""

    @property
    def error_path(self) -> Path:
        """Where the traceback of a failure is."""

    def run(self, show: Show) -> str | None:
        """Search and write the record; return the line that tells of a failure.

        ``show`` takes the share that is done.
        """


Pending = tuple[Work, int | None]
"""A search to run, and when it had last failed as this began."""


def run_cells(works: Sequence[Work], finished: int, jobs: int, total: int | None = None) -> int:
    """Run searches in this order, each once among all processes; return the exit status.

    ``finished`` others are there already. ``total`` counts those too that will follow later.
    """
    tasks = [(work, _error_stamp(work)) for work in works]
    jobs = min(jobs, len(tasks))
    try:
        with Bar("searches", total or finished + len(works), finished) as bar:
            if jobs > 1:
                return _run_in_processes(tasks, finished, jobs, bar.show)
            return _run_here(tasks, finished, bar.show)
    except KeyboardInterrupt:
        return cli.INTERRUPTED


def _run_here(tasks: Sequence[Pending], done: int, show: Show) -> int:
    status = 0
    waiting = [(*task, Claim(task[0].path)) for task in tasks]
    while waiting:
        busy = []
        for work, stamp, claim in waiting:
            if not _has_ended(work, stamp) and not claim.take():
                busy.append((work, stamp, claim))
                continue
            try:
                # Another process may have run it before it gave the claim back.
                failure = None if _has_ended(work, stamp) else _run(work, done, show)
            finally:
                claim.give_back()
            done += 1
            if failure:
                print(failure, file=sys.stderr)
            if not work.path.exists():
                status = cli.FAILED
        if len(busy) == len(waiting):
            show(done, f"waiting for {len(busy)} searches of other processes")
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        waiting = busy
    return status


def _error_stamp(work: Work) -> int | None:
    """Return when a search last failed; None if it did not."""
    try:
        return work.error_path.stat().st_mtime_ns
    except FileNotFoundError:
        return None


def _has_ended(work: Work, stamp: int | None) -> bool:
    """Say whether a search is finished, or has failed since it had this stamp."""
    return work.path.exists() or _error_stamp(work) not in (None, stamp)


def _run(work: Work, done: int, show: Show) -> str | None:
    show(done, str(work))
    return work.run(lambda share, note: show(done + share, f"{work}: {note}"))


def _run_in_processes(tasks: Sequence[Pending], finished: int, jobs: int, show: Show) -> int:
    spawn = multiprocessing.get_context("spawn")
    processes = [spawn.Process(target=_work, args=(tasks,)) for _ in range(jobs)]
    try:
        with _ctrl_c_held_back():
            for each in processes:
                each.start()
        while running := [each.sentinel for each in processes if each.is_alive()]:
            left = [work for work, stamp in tasks if not _has_ended(work, stamp)]
            under_way = (str(work) for work in left if Claim.is_taken(work.path))
            show(finished + len(tasks) - len(left), "; ".join(under_way))
            wait(running, _SECONDS_BETWEEN_LOOKS)
    finally:
        with cli.undisturbed():
            for each in processes:
                each.terminate()
                each.join()
    if any(each.exitcode not in (0, cli.FAILED) for each in processes):
        again = tasks[0][0].again
        print(
            f"failed: a process died in the middle of its work; {again} runs the rest",
            file=sys.stderr,
        )
        return cli.FAILED
    return max(each.exitcode or 0 for each in processes)


def _work(tasks: Sequence[Pending]) -> None:
    """Be one of several processes that run cells; none outlives the one that started it."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(cli.FAILED)

    Thread(target=follow, daemon=True).start()
    try:
        status = _run_here(tasks, 0, lambda *_: None)
    except MaestroEnvError as error:
        print(f"error: {error}", file=sys.stderr)
        status = cli.FAILED
    sys.exit(status)


@contextmanager
def _ctrl_c_held_back() -> Iterator[None]:
    """Let Ctrl-C wait for a moment; processes started in it never see one, the parent does."""
    # Started by the first process, it would let Ctrl-C through again.
    resource_tracker.ensure_running()
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
