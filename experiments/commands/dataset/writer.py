"""Makes a data set: the record of what is drawn, the files of rows, and the card.

A file is drawn, evaluated and written; it follows from the seed and its own number.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from maestro_env.base.errors import UnknownNameError
from maestro_env.datasets.parquet import (
    FORMAT,
    RECORD,
    SPLITS,
    Dataset,
    DatasetError,
    open_dataset,
    rows_in,
    to_table,
    write_file,
)
from maestro_env.evaluation.cost_and_status import METRICS, Rows
from maestro_env.evaluation.problem import Problem
from maestro_env.experiments.commands.dataset.card import write_card, write_croissant
from maestro_env.experiments.commands.dataset.flags import Config
from maestro_env.experiments.search.goals import Goal, make_goal
from maestro_env.experiments.search.named_mappers import require_fit
from maestro_env.experiments.search.searches import Recorder, run_search
from maestro_env.experiments.shell import files
from maestro_env.experiments.shell.files import ensure_directory, replacing
from maestro_env.experiments.shell.flags import split_layers
from maestro_env.experiments.shell.printing import print_lines
from maestro_env.experiments.shown.progress import Bar
from maestro_env.experiments.shown.tables import Table
from maestro_env.experiments.store.claims import ANEW, only_process
from maestro_env.experiments.store.records import versions
from maestro_env.experiments.store.running import Running
from maestro_env.mappers import PROVERS, mapper_names
from maestro_env.mappers.parts.arrays import DRAWS
from maestro_env.mapspace.space import Points
from maestro_env.workloads.finding import find_layer
from maestro_env.workloads.layer import Layer

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


def execute(config: Config) -> int:
    """Write the files that are missing, then the card; return the exit status."""
    hardware = config.accelerator()
    layers = {name: find_layer(name) for name in split_layers(config.layers)}
    goals = {
        name: make_goal(config, layer, hardware, config.objective) for name, layer in layers.items()
    }
    _require_draw(config.draw, goals.values())
    facts = _describe(config, goals)
    with (
        Running.of(config, "dataset", "dataset", "written") as running,
        only_process(running.directory / RECORD) as record,
    ):
        directory = running.directory
        if files.is_empty(directory):
            files.write_record(record, facts)
        else:
            files.check_same(record, files.read_record(record, ANEW), facts)
        parts = [
            part
            for name, goal in goals.items()
            for part in plan(directory / files.distinct_name(name), goal, config.samples)
        ]
        _write_files(parts, config)
        dataset = open_dataset(directory)
        statuses = {name: dataset.statuses(name) for name in goals}
        write_card(dataset, statuses, config)
        write_croissant(dataset)
        _table(dataset, statuses).print()
        print_lines(f"data set: {directory}")
    return running.status


def _write_files(parts: Sequence[DataFile], config: Config) -> None:
    """Write the files: an interrupt leaves those under way out."""
    made, done = write_parts(parts, config.draw, config.seed, config.threads), 0
    with closing(made), Bar("rows", sum(part.rows for part in parts)) as bar:
        for part in made:
            done += part.rows
            bar.show(done, "")


def _require_draw(draw: str, goals: Iterable[Goal]) -> None:
    """Refuse what is neither a distribution nor a mapper that spends its budget on every goal."""
    allowed = [*DRAWS, *(name for name in mapper_names() if name not in PROVERS)]
    name, *settings = draw.split(":")
    if name not in allowed or (name in DRAWS and settings):
        raise UnknownNameError("draw", draw, allowed)
    if draw not in DRAWS:
        require_fit([draw], goals)


def _describe(config: Config, goals: dict[str, Goal]) -> dict[str, Any]:
    """Return everything that decides the rows, as JSON."""
    goal = next(iter(goals.values()))
    problem, searched = goal.require("levels"), config.draw not in DRAWS
    return {
        "problem": {
            "hardware": problem.hardware.record(),
            "schema": problem.space.schema,
            "tiles": problem.space.tiles,
            "model": problem.model,
            "guard": problem.guard,
        },
        "draw": {
            "format": FORMAT,
            "draw": config.draw,
            "objective": [goal.objective.name, config.energy] if searched else None,
            "seed": config.seed,
            "samples": config.samples,
            "rows_per_file": ROWS_PER_FILE,
        },
        "layers": {
            name: {"folder": files.distinct_name(name), "layer": _fields(each.problem.layer)}
            for name, each in goals.items()
        },
        "versions": {**versions(), "pyarrow": version("pyarrow")},
    }


def _fields(layer: Layer) -> dict[str, Any]:
    """Return the arguments that make a layer, as JSON."""
    return {
        "operator": layer.operator,
        "extents": dict(layer.extents),
        "stride": list(layer.stride),
        "name": layer.name,
        "count": layer.count,
    }


def _table(dataset: Dataset, statuses: dict[str, dict[str, int]]) -> Table:
    problem = next(iter(dataset.problems.values()))
    rows = []
    for name, counts in statuses.items():
        count = sum(counts.values())
        size = sum(path.stat().st_size for path in dataset.files(name))
        valid = counts.get("ok", 0) / count
        rows.append((name, f"{count:,}", f"{valid:.2%}", f"{size / count:.0f}"))
    title = f"Mappings on {problem.hardware.name} under {problem.model}"
    return Table(title, ("layer",), ("rows", "valid", "bytes a row"), rows)
