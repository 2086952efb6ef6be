"""Directories of records: what each is for is written once, and checked by all who resume it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from experiments.shell.files import RecordError, check_same, is_empty, read_record, write_record
from experiments.store.claims import claimed, remove_abandoned

CONFIG = "config.json"
"""The file that says what a directory is for."""

ANEW = "give another --out to begin anew"

# Which commands make directories, by a section that their files have and those below lack.
_COMMANDS = {
    "sweep": "sweep",
    "network": "map",
    "labels": "pretrain",
    "config": "run or compare",
}


class Directory:
    """A directory that several processes may share.

    Args:
        path: of a directory that exists.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def open(
        self, facts: dict[str, Any], more: Callable[[], dict[str, Any]] = dict
    ) -> dict[str, Any]:
        """Write what the directory is for, or check that it is for the same; return what it says.

        Args:
            facts: what decides the results, JSON objects by section.
            more: makes what is kept beside them; called for a new directory alone, whose file is
                written last.

        Raises:
            RecordError: it is for something else, or cannot be read or written.
        """
        path, command = self.path / CONFIG, _command(facts)
        with claimed(path):
            if path.exists():
                entry = read_record(path, ANEW)
                if (other := _command(entry)) != command:
                    raise RecordError(
                        f"{self.path} is a directory of {other}, not of {command}; {ANEW}"
                    )
                check_same(path, entry, facts)
            elif is_empty(self.path):
                entry = facts | more()
                write_record(path, entry)
            else:
                raise RecordError(
                    f"{self.path} has files but no {CONFIG}: it is no directory of {command}; "
                    f"{ANEW}"
                )
        remove_abandoned(self.path)
        return entry


def _command(entry: Mapping[str, Any]) -> str:
    """Return the command whose directories have such a file."""
    return next((name for key, name in _COMMANDS.items() if key in entry), "another command")
