"""What a command does that fills a directory with records: open it, run what is left, report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from maestro_env.experiments.shell import cli
from maestro_env.experiments.shell.files import run_directory
from maestro_env.experiments.shell.flags import tell_interrupted
from maestro_env.experiments.shell.printing import print_lines
from maestro_env.experiments.store.directory import Directory
from maestro_env.experiments.store.pool import run_cells
from maestro_env.experiments.store.records import Case, Record, refuse_damaged
from maestro_env.experiments.store.versions import Versions, processor, versions

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Work = TypeVar("Work", bound=Case[Any, Any])


def carry_out(
    name: str,
    config: Any,
    decided: dict[str, Any],
    packages: Sequence[str],
    kind: Callable[..., Work],
    setups: Sequence[DataclassInstance],
    report: Callable[[Sequence[Work]], None],
    first: Callable[[Path, Versions], Sequence[Record[Any]]] = lambda *_: (),
) -> int:
    """Run the cases that are not there yet, report, and return the exit status.

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
    # Asking git takes a moment, in which an interrupt should leave nothing behind.
    here: Versions = {**versions(), "processor": processor()}
    here |= {package: version(package) for package in packages}
    command = f"{name} {config.action}"
    directory = run_directory(config.out, command, config.resume)
    Directory(directory, command).open({"config": decided})
    sources = first(directory, here)
    works = [kind(setup, directory=directory, versions=here) for setup in setups]
    refuse_damaged([*sources, *works])
    status = _run(sources, config.jobs) or _run(works, config.jobs)
    with cli.undisturbed():
        report(works)
        print_lines(f"records: {directory}")
        if status == cli.INTERRUPTED:
            tell_interrupted("finished", config, name, directory)
    return status


def _run(works: Sequence[Record[Any]], jobs: int) -> int:
    left = [work for work in works if not work.ended]
    return run_cells(left, len(works) - len(left), jobs)
