"""Running the records that are not there yet, beside other processes that do the same.

Jobs are processes that share the directory as any others would: claims say who runs what.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import wait
from typing import Any

from maestro_env.base.errors import MaestroEnvError
from maestro_env.base.parallelism import ctrl_c_held_back, end_with_parent
from maestro_env.experiments.shell import cli
from maestro_env.experiments.shell.printing import print_errors
from maestro_env.experiments.shown.progress import Bar
from maestro_env.experiments.store.claims import Claim, remove_abandoned
from maestro_env.experiments.store.records import Pending, Record, Show

_SECONDS_BETWEEN_LOOKS = 0.2
# Works that have not ended, which the bar looks at beside those that run: there may be 100,000.
_LOOKED_AT = 100
# A process takes a CPU-second before it can begin, once for each wave of a network's layers.
_SECONDS_WORTH_PROCESSES = 6.0
_SECONDS_TO_JUDGE = 1.0


class _WorthProcessesError(BaseException):
    """What is left takes longer than it takes to start processes; no failure of a work."""


def run_records(
    records: Sequence[Record[Any]],
    jobs: int = 1,
    ray: str | None = None,
    before: int = 0,
    total: int | None = None,
) -> int:
    """Run those that have not ended, in this order and each once among all processes.

    Args:
        records: that have ended or not.
        jobs: processes on this machine; none is started for works that take less than they do.
        ray: address of the Ray cluster that runs them instead; None for this machine.
        before: how many others have ended.
        total: counts those too that will follow later.

    Returns:
        The exit status; that of an interrupt after Ctrl-C.

    Raises:
        MaestroEnvError: a file cannot be written, or the cluster cannot be used.
    """
    tasks = [Pending(work) for work in records if not work.ended]
    finished = before + len(records) - len(tasks)
    jobs = min(jobs, len(tasks))
    try:
        noun = next((work.NOUN for work in records), Record.NOUN)
        with Bar(noun, total or before + len(records), finished) as bar:
            if ray is not None:
                from maestro_env.experiments.store.ray_pool import run_on_ray

                return run_on_ray(tasks, finished, ray, bar.show)
            if jobs > 1:
                with suppress(_WorthProcessesError):
                    if all(each.work.runs_own_code for each in tasks):
                        return _begin_here(tasks, finished, bar.show)
                return _run_in_processes(tasks, finished, jobs, bar.show)
            return _run_here(tasks, finished, bar.show)
    except KeyboardInterrupt:
        return cli.INTERRUPTED


def _run_here(tasks: Sequence[Pending], done: int, show: Show) -> int:
    status = 0
    waiting = list(tasks)
    while waiting:
        busy = []
        for each in waiting:
            if not each.has_ended and not each.take():
                busy.append(each)
                continue
            try:
                # Another process may have run it before it gave the claim back.
                failure = None if each.has_ended else _run(each.work, done, show)
            finally:
                each.give_back()
            done += 1
            if failure:
                print_errors(failure)
            if failure or not each.work.ended:
                status = cli.FAILED
        if len(busy) == len(waiting):
            show(done, f"waiting for {len(busy)} {busy[0].work.NOUN} of other processes")
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        waiting = busy
    return status


def _begin_here(tasks: Sequence[Pending], done: int, show: Show) -> int:
    """Run searches here until the rest is worth processes, which begin the last one anew."""
    began = time.process_time()

    def judge(now: float, note: str) -> None:
        show(now, note)
        spent, ended = time.process_time() - began, now - done
        left = spent * (len(tasks) - ended)
        if spent > _SECONDS_TO_JUDGE and left > _SECONDS_WORTH_PROCESSES * ended:
            raise _WorthProcessesError

    return _run_here(tasks, done, judge)


def _run(work: Record[Any], done: int, show: Show) -> str | None:
    show(done, str(work))
    return work.run(lambda share, note: show(done + share, f"{work}: {note}"))


def _run_in_processes(tasks: Sequence[Pending], finished: int, jobs: int, show: Show) -> int:
    spawn = multiprocessing.get_context("spawn")
    processes = [spawn.Process(target=_work, args=(tasks,)) for _ in range(jobs)]
    try:
        with ctrl_c_held_back():
            for each in processes:
                each.start()
        left = deque(tasks)
        while running := [each.sentinel for each in processes if each.is_alive()]:
            first = _first_left(left, jobs + _LOOKED_AT)
            under_way = (str(work) for work in first if Claim.is_taken(work.path))
            show(finished + len(tasks) - len(left), "; ".join(under_way))
            wait(running, _SECONDS_BETWEEN_LOOKS)
    finally:
        with cli.undisturbed():
            for each in processes:
                each.kill()  # One that is stopped would not heed less.
                each.join()
            died = any(each.exitcode not in (0, cli.FAILED) for each in processes)
            for directory in {each.work.directory for each in tasks} if died else ():
                remove_abandoned(directory)
    if died:
        again = tasks[0].work.again
        print_errors(f"failed: a process died in the middle of its work; {again} runs the rest")
        return cli.FAILED
    return max(each.exitcode or 0 for each in processes)


def _first_left(left: deque[Pending], most: int) -> list[Record[Any]]:
    """Drop ended ones up to the first so many that have not; return these."""
    first: list[Pending] = []
    while left and len(first) < most:
        each = left.popleft()
        if not each.has_ended:
            first.append(each)
    left.extendleft(reversed(first))
    return [each.work for each in first]


def _work(tasks: Sequence[Pending]) -> None:
    """Be one of several processes that run cells; none outlives the one that started it."""
    end_with_parent(cli.FAILED)
    try:
        status = _run_here(tasks, 0, lambda *_: None)
    except MaestroEnvError as error:
        print_errors(f"error: {error}")
        status = cli.FAILED
    sys.exit(status)
