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
    """Return a file's text.

    Raises:
        OSError: the file cannot be opened or read.
        ValueError: it is not text of the encoding.
        TooLongError: it holds more than ``most`` characters.
    """
    with open(path, encoding=encoding, newline=newline) as file:
        text = file.read(most + 1)
    if len(text) > most:
        raise TooLongError(f"it has more than {most:,} characters, which is the limit")
    return text


def read_lines(file: IO[bytes], most: int) -> Iterator[bytes]:
    """Yield a file's lines.

    Raises:
        OSError: the file cannot be read.
        TooLongError: a line holds more than ``most`` bytes.
    """
    number = 0
    while line := file.readline(most + 1):
        number += 1
        if len(line) > most:
            raise TooLongError(f"line {number} has more than {most:,} bytes, which is the limit")
        yield line
