"""Writes a table: rows are appended to a ``.part`` file, which is renamed once it has them all.

So the length of the file says how many vectors are done, whatever ended the process before.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from maestro_env.datasets.tabulated import TABLE_ROW, TableError, table_rows, vectors
from maestro_env.evaluation.problem import Problem
from maestro_env.experiments.shell.files import RecordError

_BLOCK = 2**16
_CHECKED = 1000


def bytes_left(problem: Problem, path: Path) -> int:
    """Return how many bytes of a table are not yet written."""
    if path.exists():
        return 0
    part = _part(path)
    written = part.stat().st_size if part.exists() else 0
    size = problem.space.size()
    return max(len(_header(size)) + size * TABLE_ROW.itemsize - written, 0)


def write_table(problem: Problem, path: Path, threads: int, on_done: Callable[[int], None]) -> None:
    """Evaluate the vectors that a table lacks, and write it.

    Args:
        problem: whose vectors they are.
        path: of the table.
        threads: of the batch evaluation; the table does not depend on it.
        on_done: called with the number of vectors that are written, also before the first.

    Raises:
        TableError: the part that is there has other values than the model.
        RecordError: it cannot be written.
    """
    size, part = problem.space.size(), _part(path)
    try:
        part.touch()
        with part.open("r+b") as file:
            done = _begin(file, _header(size))
            _check(problem, part, file.tell() - done * TABLE_ROW.itemsize, done)
            on_done(done)
            for start in range(done, size, _BLOCK):
                stop = min(start + _BLOCK, size)
                file.write(_block(problem, np.arange(start, stop), threads))
                on_done(stop)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise RecordError(f"cannot write {part}: {error.strerror}") from error


def _block(problem: Problem, numbers: NDArray[np.int64], threads: int = 1) -> bytes:
    """Return the rows of the vectors with these numbers."""
    return table_rows(problem, vectors(problem.space, numbers), threads).tobytes()


def _begin(file: BinaryIO, header: bytes) -> int:
    """Go to the end of the whole rows of a file, and return how many there are."""
    if file.read(len(header)) != header:
        file.seek(0)
        file.truncate()
        file.write(header)
    rows = (file.seek(0, os.SEEK_END) - len(header)) // TABLE_ROW.itemsize
    file.truncate(file.seek(len(header) + rows * TABLE_ROW.itemsize))
    return rows


def _check(problem: Problem, part: Path, offset: int, done: int) -> None:
    """Check that rows written before have the values of the model."""
    if not done:
        return
    written = np.memmap(part, TABLE_ROW, mode="r", offset=offset, shape=(done,))
    numbers = np.random.default_rng(0).integers(done, size=_CHECKED)
    if written[numbers].tobytes() != _block(problem, numbers):
        raise TableError(f"{part} was begun by another version of the model: delete it")


def _header(size: int) -> bytes:
    file = io.BytesIO()
    layout = {"descr": TABLE_ROW.descr, "fortran_order": False, "shape": (size,)}
    np.lib.format.write_array_header_1_0(file, layout)
    return file.getvalue()


def _part(path: Path) -> Path:
    return path.with_suffix(".part")
