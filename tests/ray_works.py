"""Works for tests of launchers: they take a known time, and note every time they run."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maestro_env.experiments.store.records import Record, Show


@dataclass(frozen=True)
class Spinning(Record[dict[str, Any]]):
    """Keeps a core busy for some seconds; the record follows from the number alone.

    Args:
        number: names it.
        directory: that keeps its record.
        seconds: it takes.
        log: a line for every time it has run; None for none.
        fatal: it kills its process.
    """

    number: int
    seconds: float = 0.0
    log: Path | None = None
    fatal: bool = False

    def __str__(self) -> str:
        return f"work {self.number}"

    @property
    def path(self) -> Path:
        return self.directory / f"{self.number % 7}" / f"{self.number}.json"

    def facts(self) -> dict[str, Any]:
        return {}

    def compute(self, show: Show) -> dict[str, Any]:
        end = time.perf_counter() + self.seconds
        while time.perf_counter() < end:
            pass
        if self.fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.log is not None:
            with self.log.open("a") as log:
                log.write(f"{self.number}\n")
        return {"number": self.number, "square": self.number**2}

    def parse(self, entry: dict[str, Any]) -> dict[str, Any]:
        return entry
