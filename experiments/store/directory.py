"""Directories of records: what each is for is written once, and checked by all who resume it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from maestro_env.experiments.shell.files import (
    RecordError,
    check_same,
    is_empty,
    read_record,
    write_record,
)
from maestro_env.experiments.store.claims import claimed, remove_abandoned

CONFIG = "config.json"
"""The file that says what a directory is for."""

ANEW = "give another --out to start again"


def open_directory(
    directory: Path,
    command: str,
    facts: dict[str, Any],
    more: Callable[[], dict[str, Any]] = dict,
) -> dict[str, Any]:
    """Write what a directory is for, or check that it is for the same; return what it says.

    Args:
        directory: that exists, which several processes may share.
        command: that makes such directories.
        facts: what decides the results, JSON objects by section.
        more: makes what is kept beside them; called only for a new directory, whose file is written
            last.

    Raises:
        RecordError: it is for something else, or cannot be read or written.
    """
    path = directory / CONFIG
    with claimed(path):
        if path.exists():
            entry = read_record(path, ANEW)
            if (other := entry.get("command", "another command")) != command:
                raise RecordError(
                    f"{directory} is a directory of {other}, not of {command}; {ANEW}"
                )
            check_same(path, entry, facts)
        elif is_empty(directory):
            entry = {"command": command, **facts, **more()}
            write_record(path, entry)
        else:
            raise RecordError(
                f"{directory} has files but no {CONFIG}: it is not a directory of {command}; {ANEW}"
            )
    remove_abandoned(directory)
    return entry
