"""Rows of result files: read, selected, grouped, and made into tables of the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from maestro_env.experiments.shell.files import RecordError, read_csv

CsvRow = Mapping[str, str]
CsvRows = Sequence[CsvRow]


def read_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a result file by the names of its header.

    Raises:
        RecordError: it cannot be read, or is incomplete.
    """
    rows = read_csv(path)
    whole = path.read_text(encoding="utf-8").endswith("\n")
    # A row that is too short lacks values; one that is too long has some without a name.
    if not whole or any(None in row or None in row.values() for row in rows):
        raise RecordError(f"cannot read {path}: incomplete; the command that made it writes it")
    return rows


def select(rows: CsvRows, **values: str) -> CsvRows:
    """Return the rows with these values in some columns."""
    return [row for row in rows if all(row[name] == value for name, value in values.items())]


def grouped(rows: CsvRows, *keys: str) -> Mapping[tuple[str, ...], CsvRows]:
    """Return rows that agree in some columns together, by these."""
    found: dict[tuple[str, ...], list[CsvRow]] = {}
    for row in rows:
        found.setdefault(tuple(row[key] for key in keys), []).append(row)
    return found


CsvTable = tuple[Sequence[str], Sequence[Sequence[object]]]
"""Headers and rows, which a macro of the template shows."""


def pivot(
    left: str,
    rows: CsvRows,
    across: Sequence[str],
    cell: Callable[[CsvRow], object],
    label: Callable[[CsvRow], object],
) -> CsvTable:
    """Return a table: a line for each label, a column for each value of some columns together."""
    columns: dict[str, None] = {}
    lines: dict[object, dict[str, object]] = {}
    for row in rows:
        values = (f"{int(row[key]):,}" if row[key].isdigit() else row[key] for key in across)
        column = ", ".join(values)
        columns[column] = None
        lines.setdefault(label(row), {})[column] = cell(row)
    table = [[name, *(line.get(each, "-") for each in columns)] for name, line in lines.items()]
    return [left, *columns], table
