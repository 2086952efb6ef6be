"""Directories of records that several processes share, and claims: which of them writes a file.

A claim is a ``SoftFileLease`` of filelock: a file made exclusively, which its owner touches every
10 s. Unlike ``flock`` it holds on shared file systems. The claim of a dead process of this machine
(by pid and start time) lapses at once; that of another machine once it has not been touched for
30 s of the observer's own clock, so clocks need not agree. Should an owner stall for longer and
live on, its search is done twice, with the same result: a search follows from its seed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import SoftFileLease, Timeout

from maestro_env.experiments.shell.files import (
    LOCK,
    RecordError,
    check_same,
    ensure_directory,
    is_empty,
    read_record,
    remove_temporary,
    write_record,
)

_SECONDS_TO_SIGN = 3.0
_SECONDS_BETWEEN_LOOKS = 0.05


class Claim:
    """The right to write a file, which one process has at a time; its directory is made."""

    def __init__(self, path: Path) -> None:
        ensure_directory(path.parent)
        self._path = path.with_suffix(LOCK)
        # One object for all attempts: it watches how long another claim has not been touched.
        self._lease = SoftFileLease(self._path)
        self._unsigned: tuple[tuple[int, int], float] | None = None

    def take(self) -> bool:
        """Take the claim and return whether this succeeded."""
        try:
            self._lease.acquire(timeout=0)
        except Timeout:
            self._remove_unsigned()
            return False
        except OSError as error:
            raise RecordError(f"cannot write {self._path}: {error.strerror}") from None
        return True

    def give_back(self) -> None:
        """Let others have it."""
        self._lease.release()

    @staticmethod
    def is_taken(path: Path) -> bool:
        """Say whether some process has the claim of a file, or died with it."""
        return path.with_suffix(LOCK).exists()

    def _remove_unsigned(self) -> None:
        """Remove a claim whose owner died before it wrote its name, which filelock keeps."""
        try:
            found = self._path.stat()
            key, now = (found.st_ino, found.st_mtime_ns), time.monotonic()
            if found.st_size:
                self._unsigned = None
            elif self._unsigned is None or self._unsigned[0] != key:
                self._unsigned = key, now
            elif now - self._unsigned[1] > _SECONDS_TO_SIGN:
                self._path.unlink()
        except FileNotFoundError:
            self._unsigned = None


@contextmanager
def claimed(path: Path) -> Iterator[None]:
    """Hold the claim of a file for the block, once others have given it back."""
    claim = Claim(path)
    while not claim.take():
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    try:
        yield
    finally:
        claim.give_back()


@contextmanager
def only_process(path: Path) -> Iterator[Path]:
    """Let one process at a time write a record, whose directory has nothing of dead processes."""
    remove_abandoned(path.parent)
    claim = Claim(path)
    if not claim.take():
        raise RecordError(f"{path.parent}: another process works on it; wait for it to end")
    try:
        yield path
    finally:
        claim.give_back()


def remove_abandoned(directory: Path) -> None:
    """Remove the claims and the temporary files of processes that have died."""
    remove_temporary(directory)
    for path in directory.rglob(f"*{LOCK}"):
        claim = Claim(path)
        if claim.take():
            claim.give_back()


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
