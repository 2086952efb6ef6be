"""What the benchmark measures, section by section: figures of the same kind, as rows of a table."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, TypeVar

from experiments.shown.tables import Sheet

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Section:
    """Rows of figures.

    Args:
        name: in the report.
        title: above the table.
        keys: names of the first entries of a row, which say what was measured.
        figures: names of the others, each with its header and how a number is shown.
        rows: entries in this order.
    """

    name: str
    title: str
    keys: tuple[str, ...]
    figures: Mapping[str, tuple[str, str]]
    rows: Sequence[tuple[Any, ...]]

    def records(self) -> list[dict[str, Any]]:
        """Return the rows by the names of their entries."""
        return [dict(zip((*self.keys, *self.figures), row, strict=True)) for row in self.rows]

    def sheet(self) -> Sheet:
        """Return it as a table for people."""
        headers, numbers = zip(*self.figures.values(), strict=True)
        forms = [*("{}" for _ in self.keys), *numbers]
        rows = [
            [form.format(entry) for form, entry in zip(forms, row, strict=True)]
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
