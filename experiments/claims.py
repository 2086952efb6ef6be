"""Claims: which process writes a file of a directory that several work on.

A claim is a ``SoftFileLease`` of filelock: a file made exclusively, which its owner touches every
10 s. Unlike ``flock`` it holds on shared file systems. The claim of a dead process of this machine
(by pid and start time) lapses at once; that of another machine once it has not been touched for
30 s of the observer's own clock, so clocks need not agree. Should an owner stall for longer and
live on, its search is done twice, with the same result: a search follows from its seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import SoftFileLease, Timeout

from experiments.files import LOCK, RecordError, ensure_directory, remove_temporary


class Claim:
    """The right to write a file, which one process has at a time.

    Args:
        path: of the file; its directory is made.

    Raises:
        RecordError: the directory cannot be made.
    """

    def __init__(self, path: Path) -> None:
        ensure_directory(path.parent)
        # One object for all attempts: it watches how long another claim has not been touched.
        self._lease = SoftFileLease(path.with_suffix(LOCK))

    def take(self, wait: bool = False) -> bool:
        """Take the claim and return whether this succeeded; with ``wait`` it does.

        Raises:
            RecordError: the claim's file cannot be written.
        """
        try:
            self._lease.acquire(timeout=-1 if wait else 0)
        except Timeout:
            return False
        except OSError as error:
            raise RecordError(f"cannot write {self._lease.lock_file}: {error.strerror}") from None
        return True

    def give_back(self) -> None:
        """Let others have it."""
        self._lease.release()


@contextmanager
def claimed(path: Path) -> Iterator[None]:
    """Hold the claim of a file for the block, once others have given it back.

    Raises:
        RecordError: the claim's file cannot be written.
    """
    claim = Claim(path)
    claim.take(wait=True)
    try:
        yield
    finally:
        claim.give_back()


def remove_abandoned(directory: Path) -> None:
    """Remove the claims and the temporary files of processes that have died."""
    remove_temporary(directory)
    for path in directory.rglob(f"*{LOCK}"):
        claim = Claim(path)
        if claim.take():
            claim.give_back()
