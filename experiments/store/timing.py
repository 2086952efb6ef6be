"""Measurements: times of the parts of a work, where they were taken, and their file."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from maestro_env.base.parallelism import processors
from maestro_env.experiments.shell import cli
from maestro_env.experiments.shell.files import ensure_directory, refuse_irregular, write_csv
from maestro_env.experiments.shell.printing import print_errors, print_lines
from maestro_env.experiments.shown.progress import Bar
from maestro_env.experiments.store.records import processor, versions

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Row = TypeVar("Row", bound="DataclassInstance")
Result = TypeVar("Result")
Given = ParamSpec("Given")

# Seconds of a timing, and the most calls of it.
_LEAST_SECONDS, _MOST_CALLS = 0.05, 1000


def tell_circumstances(csv: str | None) -> None:
    """Refuse a file that cannot be written, then print when and where it is measured."""
    if csv is not None:
        refuse_irregular(Path(csv))
        ensure_directory(Path(csv).parent)
    installed = versions()
    print_lines(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, commit {installed['commit'] or '-'}")
    print_lines(f"{processor()}, numpy {installed['numpy']}")
    print_lines(
        f"{processors()} processors, load {os.getloadavg()[0]:.1f}; 1 thread", "", flush=True
    )


def measured(
    cases: Mapping[str, Callable[[], Iterable[Row]]], csv: str | None
) -> tuple[list[Row], int]:
    """Return the rows of all cases, or at Ctrl-C of those finished, and the exit status.

    Args:
        cases: what is measured, by names for the bar.
        csv: the file that is written after every case; None for none.
    """
    rows: list[Row] = []
    try:
        with Bar("measured", len(cases)) as bar:
            for name in bar.each(cases):
                rows += cases[name]()
                if csv is not None and rows:
                    _write(Path(csv), rows)
    except KeyboardInterrupt:
        print_errors(f"interrupted: {len(rows)} rows were measured")
        return rows, cli.INTERRUPTED
    return rows, 0


def now() -> tuple[float, float]:
    """Return the wall time and this process's CPU time, in seconds."""
    return time.perf_counter(), time.process_time()


def microseconds(work: Callable[[], object]) -> float:
    """Return the mean time of a call, of enough of them to be told from the clock's own."""
    calls, began = 0, time.perf_counter()
    while calls < _MOST_CALLS and time.perf_counter() - began < _LEAST_SECONDS:
        work()
        calls += 1
    return 1e6 * (time.perf_counter() - began) / calls


class Clock:
    """Sums the wall and CPU seconds of phases; work within other work counts as its own phase."""

    def __init__(self) -> None:
        self.wall: dict[str, float] = defaultdict(float)
        self.cpu: dict[str, float] = defaultdict(float)
        self._within = 0.0, 0.0

    def timed(self, phase: str, work: Callable[Given, Result]) -> Callable[Given, Result]:
        """Return work that is timed whenever it is done."""

        def worked(*arguments: Given.args, **named: Given.kwargs) -> Result:
            outer, self._within = self._within, (0.0, 0.0)
            before = now()
            result = work(*arguments, **named)
            wall, cpu = (after - start for after, start in zip(now(), before, strict=True))
            self.wall[phase] += wall - self._within[0]
            self.cpu[phase] += cpu - self._within[1]
            self._within = outer[0] + wall, outer[1] + cpu
            return result

        return worked


def _write(path: Path, rows: Sequence[DataclassInstance]) -> None:
    names = [field.name for field in fields(rows[0])]
    write_csv(path, names, (asdict(row).values() for row in rows))
