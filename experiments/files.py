"""Files that are written whole or not at all, and read with errors that name them."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from maestro_env.errors import MaestroEnvError

_UNFINISHED = ".tmp"


class RecordError(MaestroEnvError, ValueError):
    """A file or directory that cannot be written or read; the message names it."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path, and rename it to ``path`` once the block has succeeded.

    Raises:
        RecordError: it cannot be written.
    """
    # Another process may be writing the same file.
    temporary = path.parent / f".{path.name}.{os.getpid()}{_UNFINISHED}"
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


def safe_name(text: str) -> str:
    """Return a text as part of a file name; different texts may become the same."""
    return re.sub(r"[^A-Za-z0-9._]+", "-", text)[:80]


def distinct_name(text: str) -> str:
    """Return a text as a file name; different texts become different names."""
    name = safe_name(text)
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    return name if name == text else f"{name}-{digest}"


def make_directory(out: str | None, stem: str) -> Path:
    """Make the directory of a new run.

    Args:
        out: where; None for the first free ``runs/<stem>-<n>``.
        stem: part of a file name.

    Raises:
        RecordError: it exists, or cannot be made.
    """
    if out is None:
        return next(path for n in count(1) if _make(path := Path("runs") / f"{stem}-{n}"))
    directory = Path(out)
    if not _make(directory):
        raise RecordError(f"run directory {directory} exists: give another --out, or --resume it")
    return directory


def ensure_directory(directory: Path) -> None:
    """Make a directory unless it is there.

    Raises:
        RecordError: it cannot be made.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecordError(f"cannot make directory {directory}: {error.strerror}") from None


def is_empty(directory: Path) -> bool:
    """Say whether a directory exists and holds nothing that was finished."""
    return directory.is_dir() and all(each.suffix == _UNFINISHED for each in directory.iterdir())


def _make(directory: Path) -> bool:
    """Make a directory and say whether it is new."""
    try:
        directory.mkdir(parents=True)
    except FileExistsError:
        return False
    except OSError as error:
        raise RecordError(f"cannot make directory {directory}: {error.strerror}") from None
    return True
