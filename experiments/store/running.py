"""Running the records of a directory that are not there yet: here, in processes, or by Slurm.

A command opens the directory, runs them, and is ended by Ctrl-C in one way. Jobs are processes that
share the directory as any others would: claims say who runs what.
"""

from __future__ import annotations

import multiprocessing
import shlex
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import wait
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from maestro_env.base.errors import MaestroEnvError
from maestro_env.base.parallelism import ctrl_c_held_back, end_with_parent
from maestro_env.experiments.shell import cli
from maestro_env.experiments.shell.files import run_directory, write_text
from maestro_env.experiments.shell.flags import PROGRAM, UsageError, to_flags
from maestro_env.experiments.shell.printing import print_errors, print_lines
from maestro_env.experiments.shown.progress import Bar
from maestro_env.experiments.store.claims import Claim, open_directory, remove_abandoned
from maestro_env.experiments.store.ray_pool import connect
from maestro_env.experiments.store.records import (
    Pending,
    Record,
    SetupRecord,
    Show,
    Versions,
    made_here,
    refuse_damaged,
)

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

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


Work = TypeVar("Work", bound=SetupRecord[Any, Any])


_SCRIPT = """\
#!/bin/bash
#SBATCH --job-name=maestro-env-{name}
#SBATCH --array=1-{tasks}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task={jobs}
#SBATCH --requeue
#SBATCH --output={log}
# Tasks claim chunks of cells in a directory that all nodes see. Submitted again, it does the rest.
cd {place} || exit
exec {command}
"""


@dataclass
class Running:
    """A command at work on a directory.

    As a context it answers Ctrl-C, wherever in the block it comes: it says how to continue.

    Args:
        directory: of the records; it exists.
        versions: of what computes them.
        jobs: processes on this machine.
        ray: address of the Ray cluster that runs them instead.
        way_on: where everything is after Ctrl-C and how to continue, for people.
        status: the exit status so far.
    """

    directory: Path
    versions: Versions
    jobs: int = 1
    ray: str | None = None
    way_on: str = ""
    status: int = 0

    @classmethod
    def of(
        cls, config: Any, name: str, stem: str, done: str = "finished", packages: Sequence[str] = ()
    ) -> Running:
        """Make or resume the directory that flags ask for.

        Args:
            config: the flags: ``out`` and ``resume``, and perhaps ``jobs`` and ``ray``.
            name: of the command.
            stem: of a new directory's name.
            done: what records are once they are there.
            packages: whose versions are kept, too.

        Raises:
            MaestroEnvError: the directory or the Ray cluster cannot be used.
        """
        # Asking git takes a moment, in which an interrupt should leave nothing behind.
        versions = made_here(*packages)
        ray = getattr(config, "ray", None)
        if ray is not None:
            connect(ray)
        directory = run_directory(config.out, stem, config.resume)
        resuming = shlex.join(to_flags(replace(config, out=str(directory), resume=True)))
        way_on = f"everything {done} is in {directory}; continue with: {PROGRAM} {name} {resuming}"
        return cls(directory, versions, getattr(config, "jobs", 1), ray, way_on)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C has ended what was run."""
        return self.status == cli.INTERRUPTED

    def run(self, records: Sequence[Record[Any]], before: int = 0, total: int | None = None) -> int:
        """Run those that have not ended, as ``run_records`` does, unless what was run has failed.

        Returns:
            The exit status so far.
        """
        self.status = self.status or run_records(records, self.jobs, self.ray, before, total)
        return self.status

    def __enter__(self) -> Running:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> bool:
        if kind is KeyboardInterrupt:
            self.status = cli.INTERRUPTED
        elif kind is not None:
            return False
        if self.interrupted:
            with cli.undisturbed():
                print_errors(f"interrupted: {self.way_on}")
        return True


def run_setups(
    name: str,
    config: Any,
    decided: dict[str, Any],
    packages: Sequence[str],
    kind: Callable[..., Work],
    setups: Sequence[DataclassInstance],
    report: Callable[[Sequence[Work]], None],
    first: Callable[[Path, Versions], Sequence[Record[Any]]] = lambda *_: (),
) -> int:
    """Run the records of some setups that are not there yet, report, and return the exit status.

    Args:
        name: of the command that makes such directories.
        config: its flags: ``action``, ``out``, ``resume`` and ``jobs`` are among them.
        decided: what all its records have in common.
        packages: whose versions are kept, too.
        kind: class of the records.
        setups: of the records.
        report: prints what the records say that are there.
        first: makes the records that must be there before all others, of a directory and versions.

    Raises:
        RecordError: a file or directory cannot be used.
    """
    command = f"{name} {config.action}"
    with Running.of(config, name, command, packages=packages) as running:
        directory, versions = running.directory, running.versions
        open_directory(directory, command, {"config": decided})
        sources = first(directory, versions)
        works = [kind(setup, directory=directory, versions=versions) for setup in setups]
        refuse_damaged([*sources, *works])
        running.run(sources)
        running.run(works)
        report(works)
        print_lines(f"records: {directory}")
    return running.status


def write_script(config: Any, name: str, directory: Path) -> Path:
    """Write a Slurm script of a command's tasks into its directory, and return the path.

    Args:
        config: its flags: ``slurm``, the number of tasks, ``jobs``, ``out`` and ``resume``.
        name: of the command.
        directory: of the records, which the tasks share.

    Raises:
        UsageError: a directory whose name no comment of a script can hold.
    """
    path = directory.resolve() / f"{name}.sbatch"
    if not str(path).isprintable():
        raise UsageError(f"--slurm: {directory} is not printable; give another --out")
    asked = replace(config, slurm=None, out=str(path.parent), resume=True)
    script = _SCRIPT.format(
        name=name,
        tasks=config.slurm,
        jobs=config.jobs,
        log=shlex.quote(f"{path.parent}/slurm-%a.txt"),
        place=shlex.quote(str(Path.cwd())),
        command=shlex.join([*_program(name), *to_flags(asked)]),
    )
    write_text(path, script)
    return path


def _program(name: str) -> list[str]:
    """Return how this process's user starts the command, wherever the path leads elsewhere."""
    started = Path(sys.argv[0])
    if started.name == PROGRAM:
        return [str(started.absolute()), name]
    return [sys.executable, "-m", "experiments", name]
