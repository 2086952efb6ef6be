"""What is kept of a search whose mapper raised an exception."""

from __future__ import annotations

import traceback
from pathlib import Path

from experiments.files import write_text
from experiments.texts import printable


def record_failure(path: Path, search: str, error: BaseException) -> str:
    """Write the traceback of an exception; return the line that tells of it.

    Args:
        path: of the file to write.
        search: that failed.
        error: what was raised.

    Raises:
        RecordError: the file cannot be written.
    """
    write_text(path, "".join(traceback.format_exception(error)))
    reason = " ".join(f"{type(error).__name__}: {error}".split())
    return printable(f"failed: {search}: {reason}; traceback in {path}")
