"""Reads files that users name, and never more of one than a limit.

This module imports the standard library alone, so that the drop-in starts quickly.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from maestro_env.base.errors import Refuse, TooLongError


def open_bytes(path: str | Path) -> io.BufferedReader:
    """Open a file to read its bytes.

    A pipe that nothing writes to would be waited for without end; it raises an ``OSError``, as any
    file may.
    """
    file: io.BufferedReader = io.BufferedReader(io.FileIO(path, opener=_open_at_once))
    try:
        if stat.S_ISFIFO(os.fstat(file.fileno()).st_mode) and not file.peek(1):
            raise OSError(errno.ENODATA, "it is a pipe that nothing is written to", str(path))
    except BaseException:
        file.close()
        raise
    return file


def open_regular(path: str | Path) -> io.BufferedReader:
    """Open a regular file to read its bytes.

    Pipes and devices, some of which never end, raise an ``OSError``, as any file may.
    """
    file: io.BufferedReader = io.BufferedReader(io.FileIO(path, opener=_open_at_once))
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return file


def open_text(
    path: str | Path, encoding: str = "utf-8", newline: str | None = None
) -> io.TextIOWrapper:
    """Open a file to read its text, as ``open_bytes`` does."""
    return io.TextIOWrapper(open_bytes(path), encoding, newline=newline)


def _open_at_once(path: str, flags: int) -> int:
    """Open a file, even a pipe before somebody opens it for writing."""
    opened = os.open(path, flags | os.O_NONBLOCK)
    # Who has opened a pipe for writing is waited for.
    os.set_blocking(opened, True)
    return opened


def read_text(
    path: str | Path, most: int, encoding: str = "utf-8", newline: str | None = None
) -> str:
    """Return a file's text, or raise a ``TooLongError`` if it exceeds ``most`` characters.

    As of any file, ``OSError`` and, for a text of another encoding, ``ValueError`` may be raised.
    """
    with open_text(path, encoding, newline) as file:
        text = file.read(most + 1)
    if len(text) > most:
        raise TooLongError(f"it has more than {most:,} characters, which is the limit")
    return text


def read_or_refuse(
    path: str | Path, most: int, refuse: Refuse, encoding: str = "utf-8", newline: str | None = None
) -> str:
    """Return a file's text, or raise the error that says why it cannot be read."""
    try:
        return read_text(path, most, encoding, newline)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise refuse(f"{path} cannot be read: {reason}") from None


def read_lines(file: io.BufferedIOBase, most: int) -> Iterator[bytes]:
    """Yield a file's lines, or raise a ``TooLongError`` at one of more than ``most`` bytes."""
    for number, line in enumerate(iter(lambda: file.readline(most + 1), b""), start=1):
        if len(line) > most:
            raise TooLongError(f"line {number} has more than {most:,} bytes, which is the limit")
        yield line


def read_bytes(path: str | Path, most: int) -> bytes:
    """Return a file's bytes, or raise a ``TooLongError`` if it has more than ``most``.

    As of any file, ``OSError`` may be raised.
    """
    with open_bytes(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise TooLongError(f"it has more than {most:,} bytes, which is the limit")
    return data
