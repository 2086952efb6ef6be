"""Traces of searches: a row for every sample, in compressed CSV beside the record.

Each is a gzip member. Members can be joined by their bytes; any gzip reader sees one file.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from maestro_env.evaluation.cost_and_status import STATUSES
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.experiments.shell.files import cannot_read, csv_cell, replacing

_TRACE_HEADER = ("mapper", "seed", "evaluation", "objective", "best", "status")


def trace_path(record: Path) -> Path:
    """Return where the samples of a search are, beside its record."""
    return record.with_suffix(".trace.csv.gz")


def join_traces(path: Path, traces: Iterable[Path]) -> None:
    """Write one file of the samples of several searches, with a header."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(_member([_TRACE_HEADER]))
        for trace in traces:
            try:
                file.write(trace.read_bytes())
            except OSError as error:
                raise cannot_read(trace, error) from None


def write_trace(path: Path, mapper: str, seed: int, evaluator: Evaluator) -> None:
    """Write the samples of a search, without a header."""
    values, status = evaluator.trace
    columns = (values, np.minimum.accumulate(values), status)
    samples = zip(*(column.tolist() for column in columns), strict=True)
    called = csv_cell(mapper)
    rows = (
        (called, seed, index, value, best, STATUSES[code])
        for index, (value, best, code) in enumerate(samples, 1)
    )
    with replacing(path) as temporary:
        temporary.write_bytes(_member(rows))


def _member(rows: Iterable[Iterable[object]]) -> bytes:
    buffer = io.BytesIO()
    # No name and no time, so that the same trace makes the same bytes.
    with (
        gzip.GzipFile("", "wb", compresslevel=6, fileobj=buffer, mtime=0) as member,
        io.TextIOWrapper(member, encoding="utf-8", newline="") as text,
    ):
        csv.writer(text, lineterminator="\n").writerows(rows)
    return buffer.getvalue()
