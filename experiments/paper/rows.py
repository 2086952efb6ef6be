"""Result files read back: whole ones, or a line that names the file."""

from __future__ import annotations

from pathlib import Path

from experiments.csv_files import read_csv
from experiments.files import RecordError, cannot_read


def read_rows(path: Path) -> list[dict[str, str]]:
    """Read a result file: its rows by the names of its header.

    Raises:
        RecordError: it cannot be read, or was cut off.
    """
    rows = read_csv(path)
    try:
        whole = path.read_text(encoding="utf-8").endswith("\n")
    except (OSError, ValueError) as error:
        raise cannot_read(path, error) from None
    # A row that is too short lacks values, one that is too long has some without a name.
    if not whole or any(None in row or None in row.values() for row in rows):
        raise RecordError(
            f"cannot read {path}: cut off or damaged; the command that made it writes it anew"
        )
    return rows
