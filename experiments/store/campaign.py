"""What a command does that fills a directory with records: open it, run what is left, report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from experiments.shell import cli
from experiments.shell.files import run_directory
from experiments.store.directory import Directory
from experiments.store.pool import run_cells
from experiments.store.records import Record, refuse_damaged
from experiments.store.versions import Versions, processor, versions
from maestro_env.base.errors import printable

Work = TypeVar("Work", bound=Record[Any])


def carry_out(
    command: str,
    place: tuple[str | None, bool],
    decided: dict[str, Any],
    packages: Sequence[str],
    make: Callable[[Path, Versions], Sequence[Work]],
    report: Callable[[Sequence[Work]], None],
    jobs: int = 1,
    first: Callable[[Path, Versions], Sequence[Record[Any]]] = lambda *_: (),
) -> tuple[int, Path]:
    """Run the records that are not there yet, report, and return exit status and directory.

    Args:
        command: that makes such directories.
        place: directory, None for a new one, and whether it is resumed.
        decided: what all its records have in common.
        packages: whose versions are kept, too.
        make: makes the records of a directory and of versions.
        report: prints what the records say that are there.
        jobs: processes.
        first: makes the records that must be there before all others, likewise.

    Raises:
        RecordError: a file or directory cannot be used.
    """
    # Asking git takes a moment, in which an interrupt should leave nothing behind.
    here: Versions = {**versions(), "processor": processor()}
    here |= {name: version(name) for name in packages}
    out, resume = place
    directory = run_directory(out, command, resume)
    Directory(directory, command).open({"config": decided})
    sources, works = first(directory, here), make(directory, here)
    refuse_damaged([*sources, *works])
    status = _run(sources, jobs) or _run(works, jobs)
    with cli.undisturbed():
        report(works)
        print(printable(f"records: {directory}"))
    return status, directory


def _run(works: Sequence[Record[Any]], jobs: int) -> int:
    left = [work for work in works if not work.ended]
    return run_cells(left, len(works) - len(left), jobs)
