"""CSV files for programs, and for pages that are made of them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path

from experiments.files import cannot_read, write_text


def write_csv(path: Path, header: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Write a CSV file, or replace it."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    write_text(path, buffer.getvalue())


def read_csv(path: Path) -> list[dict[str, str]]:
    """Read a CSV file: its rows by the names of its header."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file, strict=True))
    except (OSError, ValueError, csv.Error) as error:
        raise cannot_read(path, error) from None
