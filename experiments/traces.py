"""Traces: a row for every sample of a search, as a gzip member a search.

Members can be joined by their bytes; any gzip reader sees one file.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from experiments.files import cannot_read, replacing
from maestro_env.errors import printable
from maestro_env.evaluator import Evaluator
from maestro_env.problem import STATUSES

_HEADER = ("mapper", "seed", "evaluation", "objective", "best", "status")


def write_trace(path: Path, mapper: str, seed: int, evaluator: Evaluator) -> None:
    """Write the samples that an evaluator has seen, replacing any other."""
    values, status = evaluator.trace
    columns = (values, np.minimum.accumulate(values), status)
    samples = zip(*(column.tolist() for column in columns), strict=True)
    rows = (
        (printable(mapper), seed, index, value, best, STATUSES[code])
        for index, (value, best, code) in enumerate(samples, 1)
    )
    with replacing(path) as temporary:
        temporary.write_bytes(_member(rows))


def join_traces(path: Path, traces: Iterable[Path]) -> None:
    """Write one file of the samples of several searches, with a header."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(_member([_HEADER]))
        for trace in traces:
            try:
                file.write(trace.read_bytes())
            except OSError as error:
                raise cannot_read(trace, error) from None


def _member(rows: Iterable[Iterable[object]]) -> bytes:
    buffer = io.BytesIO()
    # No name and no time, so that the same trace makes the same bytes.
    with (
        gzip.GzipFile("", "wb", compresslevel=6, fileobj=buffer, mtime=0) as member,
        io.TextIOWrapper(member, encoding="utf-8", newline="") as text,
    ):
        csv.writer(text, lineterminator="\n").writerows(rows)
    return buffer.getvalue()
