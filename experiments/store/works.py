"""Works: what a directory keeps a record of, and how those that run it see whether it has ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import Field
from pathlib import Path
from typing import Any, ClassVar, Protocol

from experiments.store.claims import Claim

Show = Callable[[float, str], None]
"""Shows how much is done, and a note."""


class Work(Protocol):
    """A search that writes a record; its text names it. It is pickled for other processes.

    It is a frozen dataclass whose field ``directory`` says where it writes: with another one it
    writes the same files there.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def directory(self) -> Path:
        """What keeps the record; all that ``run`` writes is below it."""

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


class Pending:
    """A work that some process has to run; it is pickled for other processes before it is taken."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self._failed_before = self._last_failure()
        self._claim: Claim | None = None

    @property
    def has_ended(self) -> bool:
        """Whether it is finished, or has failed since this object was made."""
        return self.work.path.exists() or self._last_failure() not in (None, self._failed_before)

    def take(self) -> bool:
        """Take the claim of its record and return whether this succeeded."""
        if self._claim is None:
            self._claim = Claim(self.work.path)
        return self._claim.take()

    def give_back(self) -> None:
        """Let others have the claim, if this process took it."""
        if self._claim is not None:
            self._claim.give_back()
        self._claim = None

    def _last_failure(self) -> int | None:
        try:
            return self.work.error_path.stat().st_mtime_ns
        except FileNotFoundError:
            return None
