"""Chunks: consecutive cells of one mapper, which are searched together and share a record."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from experiments.search.cells import tell_failure
from experiments.search.goals import ANEW, Goal, require_kind
from experiments.search.searches import run_search
from experiments.shell import files
from experiments.shell.files import DamagedError, RecordError, check_same, distinct_name, is_empty
from experiments.shown.statistics import Floats
from experiments.store.claims import claimed, remove_abandoned
from experiments.store.versions import Versions
from experiments.study.sweep.axes import Sweep
from maestro_env.evaluation.cost import buffer_bytes
from maestro_env.evaluation.evaluator import Best, Evaluator

FIGURES = (
    *("value", "evaluations", "valid", "found_at", "latency_cycles", "energy_nj", "area_um2"),
    *("l1_bytes", "l2_bytes"),
)
"""The numbers that a chunk keeps of every cell.

The best value, samples spent, valid ones among them, the sample that found the best, counted from
1, and of the best mapping its latency, energy and area, and the bytes it needs of a PE's L1 and of
L2. All but the samples are None where no mapping was valid.
"""

NUMBERS = (*FIGURES, "seconds")
"""The columns of a record that hold numbers; seconds are those of the search."""

VECTOR = "vector"
"""The column of the best mappings, as texts; None where no mapping was valid."""

Columns = dict[str, list[Any]]
"""``NUMBERS`` and ``VECTOR`` of consecutive cells."""

CONFIG = "config.json"
_SECONDS = 3.0
_MOST_CHUNKS = 20_000
# Of a mapper, so that there is something for every process of a small sweep.
_LEAST_CHUNKS = 32
_CHUNKS_OF_A_SHARD = 64


@dataclass(frozen=True)
class Chunk:
    """Consecutive cells of one mapper, with all a process needs to search them or to read them.

    Args:
        sweep: whose cells they are.
        mapper: its index in the sweep.
        start: the first of the mapper's cells.
        stop: the one after the last.
        directory: that keeps the record.
        again: what runs it again once its record is gone, for messages.
        versions: of what computes it.
    """

    sweep: Sweep
    mapper: int
    start: int
    stop: int
    directory: Path
    again: str = "--resume"
    versions: Versions = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self._name}, cells {self.start:,} to {self.stop - 1:,}"

    @property
    def path(self) -> Path:
        """Where the record is."""
        folder = self.directory / "chunks" / distinct_name(self._name)
        return folder / f"{self.start}-{self.stop}.json"

    @property
    def error_path(self) -> Path:
        """Where the traceback of a failure is."""
        return self.path.with_suffix(".error.txt")

    def run(self, show: Callable[[float, str], None]) -> str | None:
        """Search the cells and write the record; return the line that tells of a failure."""
        files.ensure_directory(self.path.parent)
        columns: Columns = {name: [] for name in (*NUMBERS, VECTOR)}
        cell, goal = self.start, None
        try:
            for cell in range(self.start, self.stop):
                show((cell - self.start) / (self.stop - self.start), "")
                problem, seed = divmod(cell, self.sweep.seeds)
                if goal is None or seed == 0:
                    goal = self.sweep.goal(problem)
                for name, figure in self._search(goal, self.sweep.seed + seed).items():
                    columns[name].append(figure)
        except (Exception, SystemExit) as error:  # noqa: BLE001 (a mapper may raise anything)
            return tell_failure(self._called(cell), error, self.error_path, self.again)
        self.write(columns)
        self.error_path.unlink(missing_ok=True)
        return None

    def write(self, columns: Columns) -> None:
        """Write the record."""
        files.write_record(self.path, self._facts() | {"cells": columns, "versions": self.versions})

    def read(self) -> tuple[Columns, Floats] | None:
        """Return what the record tells; None if the chunk has not been searched.

        Beside the columns it is their ``NUMBERS``, float64[len(NUMBERS), N], NaN for None.
        """
        if not self.path.exists():
            return None
        way_out = f"delete it, and {self.again} runs it again"
        entry = files.read_record(self.path, way_out)
        check_same(self.path, entry, self._facts())
        cells = self.stop - self.start
        try:
            columns: Columns = {name: entry["cells"][name] for name in (*NUMBERS, VECTOR)}
            numbers = np.array([columns[name] for name in NUMBERS], dtype=np.float64)
            if numbers.shape[1:] != (cells,) or len(columns[VECTOR]) != cells:
                raise ValueError("the columns have other lengths")
        except (LookupError, TypeError, ValueError) as error:
            raise DamagedError(f"{self.path} has no {cells} cells: {error}", way_out) from None
        return columns, numbers

    @property
    def _name(self) -> str:
        return self.sweep.mappers[self.mapper]

    def _search(self, goal: Goal, seed: int) -> dict[str, Any]:
        evaluator = Evaluator(goal.problem, goal.objective, self.sweep.samples)
        seconds = run_search(evaluator, self._name, seed)
        spent = {"evaluations": evaluator.used, "valid": evaluator.valid, "seconds": seconds}
        return spent | figures_of(evaluator.best)

    def _called(self, cell: int) -> str:
        problem, seed = divmod(cell, self.sweep.seeds)
        layer, hardware, objective = self.sweep.names(problem)
        return f"{self._name} on {layer}, {hardware}, {objective}, seed {self.sweep.seed + seed}"

    def _facts(self) -> dict[str, Any]:
        """Return what decides the result."""
        place = {"mapper": self._name, "start": self.start, "stop": self.stop}
        return {"chunk": {"sweep": self.sweep.digest, **place}}


def figures_of(best: Best | None) -> dict[str, Any]:
    """Return the figures of a best mapping and its vector; None for each without one."""
    names = ("value", "found_at", "latency_cycles", "energy_nj", "area_um2", "l1_bytes", "l2_bytes")
    if best is None:
        return dict.fromkeys((*names, VECTOR))
    cost = best.cost
    figures = (cost.latency_cycles, cost.energy_nj, cost.area_um2, *buffer_bytes(cost))
    vector = " ".join(map(str, best.point.tolist()))
    return dict(zip(names, (best.value, best.evaluation, *figures), strict=True)) | {VECTOR: vector}


def chunk_sizes(sweep: Sweep, seconds: Mapping[str, float]) -> dict[str, int]:
    """Return the cells of a chunk by mapper, from the seconds that a cell takes.

    A chunk takes about 3 s, so that claim and record take little of it: more where there would be
    more than 20,000 chunks, less where a mapper would have fewer than 32.
    """
    least = math.ceil(sweep.cells / _MOST_CHUNKS)
    most = math.ceil(sweep.cells_of_mapper / _LEAST_CHUNKS)
    return {
        mapper: max(least, min(int(_SECONDS / seconds[mapper]), most), 1)
        for mapper in sweep.mappers
    }


def shard_sizes(sweep: Sweep, shards: int) -> dict[str, int]:
    """Return the cells of a chunk by mapper, the same ones on all machines that share no files."""
    size = max(sweep.cells_of_mapper // (shards * _CHUNKS_OF_A_SHARD), 1)
    return dict.fromkeys(sweep.mappers, size)


def make_chunks(
    sweep: Sweep, sizes: Mapping[str, int], directory: Path, versions: Versions
) -> list[Chunk]:
    """Return the chunks of a sweep, mapper by mapper, as a directory keeps them."""
    cells = sweep.cells_of_mapper
    return [
        Chunk(sweep, index, start, min(start + sizes[mapper], cells), directory, versions=versions)
        for index, mapper in enumerate(sweep.mappers)
        for start in range(0, cells, sizes[mapper])
    ]


def open_sweep(
    sweep: Sweep,
    directory: Path,
    versions: Versions,
    sizes: Callable[[], Mapping[str, int]],
) -> list[Chunk]:
    """Write what a directory is for, or check that the one to resume is for the same.

    Args:
        sweep: to keep there.
        directory: that exists.
        versions: of what computes it.
        sizes: makes the cells of a chunk by mapper; called for a new directory alone.

    Returns:
        All chunks, searched or not.

    Raises:
        RecordError: a directory of something else, or one that cannot be written.
    """
    path, asked = directory / CONFIG, {"sweep": sweep.describe()}
    with claimed(path):
        if path.exists():
            entry = files.read_record(path, ANEW)
            require_kind(path, entry, "sweep")
            check_same(path, entry, asked)
        elif is_empty(directory):
            entry = asked | {"chunks": dict(sizes())}
            files.write_record(path, entry)
        else:
            raise RecordError(f"{directory} has files but no {CONFIG}: it is no sweep's; {ANEW}")
    remove_abandoned(directory)
    kept = entry.get("chunks")
    if not isinstance(kept, dict) or any(
        not isinstance(size := kept.get(mapper), int) or size < 1 for mapper in sweep.mappers
    ):
        raise RecordError(f"{path} has no numbers of cells by mapper; {ANEW}")
    chunks = make_chunks(sweep, kept, directory, versions)
    known = {chunk.path for chunk in chunks}
    others = [path for path in directory.glob("chunks/*/*.json") if path not in known]
    if others:
        raise RecordError(
            f"{directory} has {len(others)} records that are no chunks of it, such as "
            f"{min(others)}: move them away; directories whose {CONFIG} is the same fit together"
        )
    return chunks
