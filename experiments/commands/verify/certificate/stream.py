"""Reads the files of certificates, never more of them than a certificate can have."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike, NDArray

from maestro_env.base.errors import MaestroEnvError

_LONGEST_HEADER = 2**16


class CertificateError(MaestroEnvError, ValueError):
    """A certificate that cannot be read or does not prove what it claims."""


class Stream:
    """The content of a certificate, read from its beginning to its end.

    Attributes:
        size: bytes of the file, at least 1.
    """

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._file, self._gzip = file, gzip.GzipFile("", "rb", fileobj=file)
        self._digest = hashlib.sha256()
        self.size = max(path.stat().st_size, 1)

    @property
    def position(self) -> int:
        """Bytes of the file that were read."""
        return self._file.tell()

    @property
    def digest(self) -> str:
        """SHA-256 of what was read."""
        return self._digest.hexdigest()

    def line(self) -> bytes:
        """Read the header."""
        line = self._gzip.readline(_LONGEST_HEADER)
        if not line.endswith(b"\n"):
            raise CertificateError(
                f"the header is not a line of at most {_LONGEST_HEADER:,} bytes; allowed: JSON"
            )
        self._digest.update(line)
        return line

    def array(self, count: int, dtype: DTypeLike) -> NDArray[Any]:
        """Read so many numbers, least byte first."""
        kind = np.dtype(dtype).newbyteorder("<")
        wanted = count * kind.itemsize
        content = self._gzip.read(wanted)
        if len(content) < wanted:
            raise CertificateError("the stream ends in the middle")
        self._digest.update(content)
        return np.frombuffer(content, dtype=kind).astype(dtype)

    def end(self) -> None:
        """Require that nothing is left."""
        if self._gzip.read(1):
            raise CertificateError("the stream continues after its end")


@contextmanager
def open_stream(path: Path) -> Iterator[Stream]:
    """Open a certificate; whatever is wrong with its file is a ``CertificateError``."""
    try:
        if path.exists() and not path.is_file():
            raise CertificateError("it is not a regular file")
        with open(path, "rb") as file:
            yield Stream(path, file)
    except OSError as error:
        # Damage to a gzip file has no strerror.
        reason = error.strerror or f"no gzip file: {error}"
        raise CertificateError(f"cannot read it: {reason}") from None
    except (EOFError, zlib.error) as error:
        raise CertificateError(f"no whole gzip file: {error}") from None
