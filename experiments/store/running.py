"""A command that fills a directory with records: opened, run, and ended by Ctrl-C in one way.

Or handed to Slurm, as tasks that share the directory.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from maestro_env.experiments.shell import cli
from maestro_env.experiments.shell.files import run_directory, write_text
from maestro_env.experiments.shell.flags import PROGRAM, UsageError, to_flags
from maestro_env.experiments.shell.printing import print_errors, print_lines
from maestro_env.experiments.store.claims import open_directory
from maestro_env.experiments.store.pool import run_records
from maestro_env.experiments.store.ray_pool import connect
from maestro_env.experiments.store.records import (
    Record,
    SetupRecord,
    Versions,
    made_here,
    refuse_damaged,
)

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

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
