"""``trace.csv.gz``: one row per evaluation, one gzip member per search.

Members make a finished search a matter of appending; any gzip reader sees one file.
"""

from __future__ import annotations

import csv
import gzip
import io
import shutil
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from experiments.files import cannot_read, replacing
from experiments.searches import Search
from experiments.stats import best_so_far
from maestro_env.problem import STATUSES

Trace = tuple[NDArray[np.float64], NDArray[np.uint8]]
"""Objective values and status codes of one search's evaluations, in order."""

_HEADER = "mapper,seed,evaluation,objective,best,status\n"
_CODES = {name: code for code, name in enumerate(STATUSES)}


def write_trace(path: Path, searches: Iterable[Search]) -> None:
    """Write the trace of searches, replacing any other."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        _write_member(file, [_HEADER])
        for search in searches:
            _write_member(file, _rows(search))


def append_trace(path: Path, search: Search) -> None:
    """Add a search to a trace."""
    with replacing(path) as temporary:
        shutil.copyfile(path, temporary)
        with temporary.open("ab") as file:
            _write_member(file, _rows(search))


def read_trace(path: Path) -> dict[tuple[str, int], Trace]:
    """Read the trace of every mapper and seed.

    Raises:
        RecordError: it cannot be read.
    """
    columns: dict[tuple[str, int], tuple[list[float], list[int]]] = {}
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                values, codes = columns.setdefault((row["mapper"], int(row["seed"])), ([], []))
                values.append(float(row["objective"]))
                codes.append(_CODES[row["status"]])
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, csv.Error) as error:
        raise cannot_read(path, error) from None
    return {
        key: (np.array(values), np.array(codes, dtype=np.uint8))
        for key, (values, codes) in columns.items()
    }


def _write_member(file: BinaryIO, lines: Iterable[str]) -> None:
    # No name and no time, so that the same trace makes the same bytes.
    with (
        gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as member,
        io.TextIOWrapper(member, encoding="utf-8", newline="\n") as text,
    ):
        text.writelines(lines)


def _rows(search: Search) -> Iterator[str]:
    columns = search.values, best_so_far(search.values), search.status
    for index, (value, best, code) in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
        yield f"{search.mapper},{search.seed},{index + 1},{value},{best},{STATUSES[code]}\n"
