"""The files of a data set: draw, evaluate, write. Each follows from the seed and its own number."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from zlib import crc32

import numpy as np

from maestro_env.datasets.parquet import SPLITS, DatasetError, rows_in, to_table, write_file
from maestro_env.evaluation.cost_and_status import METRICS, Rows
from maestro_env.evaluation.problem import Problem
from maestro_env.experiments.search.goals import Goal
from maestro_env.experiments.search.searches import Recorder, run_search
from maestro_env.experiments.shell.files import ensure_directory, replacing
from maestro_env.mappers.parts.arrays import DRAWS
from maestro_env.mapspace.space import Points

ROWS_PER_FILE = 100_000
# So many vectors and their figures stay in a core's cache.
_BATCH = 4096


@dataclass(frozen=True)
class DataFile:
    """One file of a data set.

    Args:
        path: of the file.
        goal: whose mappings it has, and for what a mapper searches.
        number: of the file in its layer.
        rows: it has.
    """

    path: Path
    goal: Goal
    number: int
    rows: int


def plan(folder: Path, goal: Goal, samples: int) -> list[DataFile]:
    """Return the files of a layer's rows, split by split."""
    rows = [
        (split, min(ROWS_PER_FILE, most - start))
        for split, most in _rows_of_splits(samples).items()
        for start in range(0, most, ROWS_PER_FILE)
    ]
    return [
        DataFile(folder / f"{split}-{number:05}.parquet", goal, number, count)
        for number, (split, count) in enumerate(rows)
    ]


def _rows_of_splits(samples: int) -> dict[str, int]:
    """Return how many rows each split has; the first has those that shares leave over."""
    first, *others = SPLITS
    rows = {split: int(samples * SPLITS[split]) for split in others}
    return {first: samples - sum(rows.values()), **rows}


def write_parts(
    parts: Sequence[DataFile], draw: str, seed: int, threads: int
) -> Generator[DataFile, None, None]:
    """Write the files that are missing, and yield each part once its file is there.

    Args:
        parts: to be written, in any order.
        draw: a name of ``DRAWS``, or of a mapper, whose search of its own each file then holds.
        seed: the same one makes the same files, whatever else is written.
        threads: files under way at a time; searches take turns, as a library may have one stream
            of random numbers for all.
    """
    write = partial(_write, draw=draw, seed=seed)
    several = threads > 1 and draw in DRAWS
    with ThreadPoolExecutor(threads) if several else nullcontext() as pool:
        yield from pool.map(write, parts) if pool else map(write, parts)


def _write(part: DataFile, draw: str, seed: int) -> DataFile:
    if part.path.exists():
        _require_whole(part)
    else:
        problem = part.goal.require("levels")
        points = _draw(part, draw, seed)
        table = to_table(problem.space, points, _evaluate(problem, points))
        ensure_directory(part.path.parent)
        with replacing(part.path) as temporary, temporary.open("wb") as file:
            write_file(file, table)
    return part


def _require_whole(part: DataFile) -> None:
    if (found := rows_in(part.path)) != part.rows:
        raise DatasetError(
            f"{part.path} has {found:,} rows, not {part.rows:,}; delete it to write it again"
        )


def _draw(part: DataFile, draw: str, seed: int) -> Points:
    """Draw the vectors of a file, int32[N, D]."""
    if draw in DRAWS:
        space = part.goal.problem.space
        layer = crc32(f"{space.layer.operator} {space.layer.dimensions}".encode())
        rng = np.random.default_rng(np.random.SeedSequence([seed, layer, part.number]))
        return DRAWS[draw](space, part.rows, rng)
    recorder = Recorder(part.goal.problem, part.goal.objective, part.rows)
    run_search(recorder, draw, (seed << 32) + part.number)
    return recorder.points


def _evaluate(problem: Problem, points: Points) -> Rows:
    """Evaluate vectors in small batches, and keep each figure of all of them together."""
    metrics = np.empty((len(METRICS), len(points)))
    status = np.empty(len(points), dtype=np.uint8)
    for start in range(0, len(points), _BATCH):
        batch = slice(start, start + _BATCH)
        rows = problem.evaluate(points[batch])
        metrics[:, batch], status[batch] = rows.metrics.T, rows.status
    return Rows(metrics.T, status)
