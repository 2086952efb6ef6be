"""Reads CSV files that users name."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path

from maestro_env.base.errors import LayerError
from maestro_env.base.reading import read_text

_MAX_CHARACTERS = 2**20


def read_rows(path: str | Path) -> list[tuple[int, list[str]]]:
    """Return the number and the cells of every line that is not blank.

    Raises:
        LayerError: the file cannot be read.
    """
    try:
        text = read_text(path, _MAX_CHARACTERS, encoding="utf-8-sig", newline="")
        reader = csv.reader(StringIO(text, newline=""))
        return [(reader.line_num, [cell.strip() for cell in row]) for row in reader if row]
    except (OSError, ValueError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise LayerError(f"{str(path)!r} cannot be read as a CSV file: {reason}") from None
