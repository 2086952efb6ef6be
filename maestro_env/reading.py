"""Reads files that users name, and never more of one than a limit.

This module imports the standard library alone, so that the drop-in starts quickly.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO

from maestro_env.errors import TooLongError


def read_text(
    path: str | Path, most: int, encoding: str = "utf-8", newline: str | None = None
) -> str:
    """Return a file's text, or raise a ``TooLongError`` if it exceeds ``most`` characters.

    As of any file, ``OSError`` and, for a text of another encoding, ``ValueError`` may be raised.
    """
    with open(path, encoding=encoding, newline=newline) as file:
        text = file.read(most + 1)
    if len(text) > most:
        raise TooLongError(f"it has more than {most:,} characters, which is the limit")
    return text


def read_lines(file: IO[bytes], most: int) -> Iterator[bytes]:
    """Yield a file's lines, or raise a ``TooLongError`` at one of more than ``most`` bytes."""
    for number, line in enumerate(iter(lambda: file.readline(most + 1), b""), start=1):
        if len(line) > most:
            raise TooLongError(f"line {number} has more than {most:,} bytes, which is the limit")
        yield line


def read_bytes(path: str | Path, most: int) -> bytes:
    """Return a file's bytes, or raise a ``TooLongError`` if it has more than ``most``.

    As of any file, ``OSError`` may be raised.
    """
    with open(path, "rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise TooLongError(f"it has more than {most:,} bytes, which is the limit")
    return data
