"""What the benchmark measures, section by section: figures of the same kind, as rows of a table."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any, TypeVar

from experiments.sheets import Sheet

Key = TypeVar("Key", bound=Hashable)

Row = dict[str, Any]


@dataclass(frozen=True)
class Section:
    """Rows of figures.

    Args:
        name: in the report.
        title: above the table.
        keys: names of the entries of a row that say what was measured.
        figures: names of the others, each with its header and how a number is shown.
        rows: by these names.
    """

    name: str
    title: str
    keys: tuple[str, ...]
    figures: Mapping[str, tuple[str, str]]
    rows: list[Row]

    def sheet(self) -> Sheet:
        """Return it as a table for people."""
        headers = [header for header, _ in self.figures.values()]
        rows = [
            (
                *(row[key] for key in self.keys),
                *(form.format(row[name]) for name, (_, form) in self.figures.items()),
            )
            for row in self.rows
        ]
        return Sheet(self.title, self.keys, headers, rows)


def interleaved(works: Mapping[Key, Callable[[], object]], rounds: int) -> dict[Key, float]:
    """Return the median seconds each piece of work takes.

    Each is done once a round, so that a spell of other load on the machine slows all of them, and
    their ratios hold.
    """
    seconds: dict[Key, list[float]] = {key: [] for key in works}
    for _ in range(rounds):
        for key, work in works.items():
            began = time.perf_counter()
            work()
            seconds[key].append(time.perf_counter() - began)
    return {key: median(each) for key, each in seconds.items()}
