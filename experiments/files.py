"""Files that are written whole or not at all, and read with errors that name them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from maestro_env.errors import MaestroEnvError


class RecordError(MaestroEnvError, ValueError):
    """A file or directory that cannot be written or read; the message names it."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path, and rename it to ``path`` once the block has succeeded.

    Raises:
        RecordError: it cannot be written.
    """
    temporary = path.parent / f".{path.name}.tmp"
    try:
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise RecordError(f"cannot write {path}: {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)


def cannot_read(path: Path, error: Exception) -> RecordError:
    """Make the error that names a file and why it cannot be read."""
    return RecordError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}")


def write_text(path: Path, text: str) -> None:
    """Write a text file, or replace it."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: object) -> None:
    """Write a JSON file, or replace it."""
    write_text(path, json.dumps(value, indent=2, allow_nan=False) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        RecordError: there is none.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise cannot_read(path, error) from None
    if not isinstance(value, dict):
        raise RecordError(f"cannot read {path}: not a JSON object")
    return value
