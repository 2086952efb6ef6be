"""Chunks: consecutive cells of one mapper, which are searched together and share a record.

They are read back from a sweep's directory, too, whose description is not at hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

from maestro_env.evaluation.cost_and_status import buffer_bytes
from maestro_env.evaluation.evaluator import Best, Evaluator
from maestro_env.experiments.search.goals import Goal, ProblemConfig
from maestro_env.experiments.search.searches import run_search
from maestro_env.experiments.shell.files import (
    DamagedError,
    RecordError,
    distinct_name,
    read_each,
    read_json,
    read_record,
    require_counts,
)
from maestro_env.experiments.shown.statistics import Floats
from maestro_env.experiments.store.claims import ANEW, CONFIG, open_directory
from maestro_env.experiments.store.records import Record, Show, Versions
from maestro_env.experiments.study.sweep.axes import LayerSet, Sweep
from maestro_env.mappers import is_own
from maestro_env.models import recorded_accelerator
from maestro_env.workloads.layer import Layer

FIGURES = (
    *("value", "evaluations", "valid", "found_at", "latency_cycles", "energy_nj", "area_um2"),
    *("l1_bytes", "l2_bytes"),
)
"""The numbers that a chunk keeps of every cell.

The best value, samples spent, valid ones among them, the sample that found the best, counted from
1, and of the best mapping its latency, energy and area, and the bytes it needs of a PE's L1 and of
L2. All but the samples are None where no mapping was valid; so are area and bytes of an accelerator
with other memories than the two.
"""

NUMBERS = (*FIGURES, "seconds", "bound")
"""The columns of a record that hold numbers.

Seconds are those of the search, and no mapping has a value below the bound; None of a mapper that
proves nothing.
"""

COUNTS = ("evaluations", "valid", "found_at", "seconds")
"""Those that say how a search went; the others are of its mapping."""

VECTOR = "vector"
"""The column of the best mappings, as texts; None where no mapping was valid."""

Columns = dict[str, list[Any]]
"""``NUMBERS`` and ``VECTOR`` of consecutive cells."""

# Cells whose mappings are evaluated again: of a sweep, and of a chunk at least.
_AGAIN, _LEAST_AGAIN = 20_000, 3


@dataclass(frozen=True)
class Chunk(Record[tuple[Columns, Floats]]):
    """Consecutive cells of one mapper, with all a process needs to search them or to read them.

    What is read is the columns and their ``NUMBERS``, float64[len(NUMBERS), N], NaN for None.

    Args:
        sweep: whose cells they are.
        mapper: its index in the sweep.
        start: the first of the mapper's cells.
        stop: the one after the last.
    """

    sweep: Sweep
    mapper: int
    start: int
    stop: int

    def __getstate__(self) -> dict[str, Any]:
        """Pickle no more of the sweep than the cells need: a chunk is sent for each few seconds."""
        seeds = self.sweep.seeds
        problems = range(self.start // seeds, (self.stop - 1) // seeds + 1)
        return self.__dict__ | {"sweep": self.sweep.part(problems)}

    def __str__(self) -> str:
        return f"{self._name}, cells {self.start:,} to {self.stop - 1:,}"

    @property
    def path(self) -> Path:
        folder = self.directory / "chunks" / distinct_name(self._name)
        return folder / f"{self.start}-{self.stop}.json"

    @property
    def runs_own_code(self) -> bool:
        return is_own(self._name)

    def facts(self) -> dict[str, Any]:
        place = {"mapper": self._name, "start": self.start, "stop": self.stop}
        return {"chunk": {"sweep": self.sweep.digest, **place}}

    def compute(self, show: Show) -> dict[str, Any]:
        columns: Columns = {name: [] for name in (*NUMBERS, VECTOR)}
        goal = None
        for cell in range(self.start, self.stop):
            show((cell - self.start) / (self.stop - self.start), "")
            problem, seed = divmod(cell, self.sweep.seeds)
            if goal is None or seed == 0:
                goal = self.sweep.goal(problem)
            try:
                found = self._search(goal, self.sweep.seed + seed)
            except (Exception, SystemExit) as error:
                error.add_note(f"({self._called(cell)})")
                raise
            for name, figure in found.items():
                columns[name].append(figure)
        return {"cells": columns}

    def parse(self, entry: dict[str, Any]) -> tuple[Columns, Floats]:
        cells = self.stop - self.start
        columns: Columns = {name: entry["cells"][name] for name in (*NUMBERS, VECTOR)}
        numbers = np.array([columns[name] for name in NUMBERS], dtype=np.float64)
        if numbers.shape[1:] != (cells,) or len(columns[VECTOR]) != cells:
            raise ValueError(f"its columns do not have {cells} cells")
        for told in zip(*(columns[name] for name in COUNTS), strict=True):
            self._check_counts(*told)
        return columns, numbers

    def _check_counts(self, spent: Any, valid: Any, found_at: Any, seconds: Any) -> None:
        first = 1 if found_at is None else found_at
        require_counts(evaluations=spent, valid=valid, found_at=first, seconds=seconds)
        if not valid <= spent <= self.sweep.samples or not 0 < first <= spent:
            raise ValueError(f"{valid} of {spent} samples are valid, the best is {found_at}")

    def check(self) -> None:
        """Read it, and evaluate some of its mappings again: which ones, its name alone decides."""
        if (found := self.read()) is None:
            return
        cells = self.stop - self.start
        count = max(math.ceil(_AGAIN * cells / self.sweep.cells), _LEAST_AGAIN)
        for place in Random(str(self)).sample(range(cells), min(count, cells)):
            told = {name: found[0][name][place] for name in figures_of(None)}
            cell = self.start + place
            if self._evaluated(cell // self.sweep.seeds, told[VECTOR], told["found_at"]) != told:
                what = f"{self.path}: the mapping of {self._called(cell)} has other figures"
                raise DamagedError(what, self.way_out)

    def _evaluated(self, problem: int, vector: Any, found_at: Any) -> dict[str, Any]:
        """Return the figures of a mapping that was found at a sample; None of what is none."""
        goal = self.sweep.goal(problem)
        evaluator = Evaluator(goal.problem, goal.objective, 1)
        with suppress(ValueError, OverflowError):
            evaluator.evaluate(np.array([list(map(int, str(vector).split()))], dtype=np.int32))
        return figures_of(evaluator.best and replace(evaluator.best, evaluation=found_at))

    @property
    def _name(self) -> str:
        return self.sweep.mappers[self.mapper]

    def _search(self, goal: Goal, seed: int) -> dict[str, Any]:
        evaluator = Evaluator(goal.problem, goal.objective, self.sweep.samples)
        seconds = run_search(evaluator, self._name, seed)
        spent = {"evaluations": evaluator.used, "valid": evaluator.valid, "seconds": seconds}
        bound = evaluator.bound if evaluator.best else None
        return spent | figures_of(evaluator.best) | {"bound": bound}

    def _called(self, cell: int) -> str:
        problem, seed = divmod(cell, self.sweep.seeds)
        layer, hardware, objective = self.sweep.names(problem)
        return f"{self._name} on {layer}, {hardware}, {objective}, seed {self.sweep.seed + seed}"


def figures_of(best: Best | None) -> dict[str, Any]:
    """Return the figures of a best mapping and its vector; None for each without one."""
    names = ("value", "found_at", "latency_cycles", "energy_nj", "area_um2", "l1_bytes", "l2_bytes")
    if best is None:
        return dict.fromkeys((*names, VECTOR))
    cost = best.cost
    # Of accelerators with other memories there are none.
    buffers = (None, None) if cost.l1_bytes is None else buffer_bytes(cost)
    figures = (cost.latency_cycles, cost.energy_nj, cost.area_um2, *buffers)
    vector = " ".join(map(str, best.point.tolist()))
    return dict(zip(names, (best.value, best.evaluation, *figures), strict=True)) | {VECTOR: vector}


def make_chunks(
    sweep: Sweep, sizes: Mapping[str, int], directory: Path, versions: Versions
) -> list[Chunk]:
    """Return the chunks of a sweep, mapper by mapper, as a directory keeps them."""
    cells = sweep.cells_of_mapper
    return [
        Chunk(
            sweep,
            index,
            start,
            min(start + sizes[mapper], cells),
            directory=directory,
            versions=versions,
        )
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
    asked = {"sweep": sweep.describe()}
    entry = open_directory(directory, "sweep", asked, lambda: {"chunks": dict(sizes())})
    path, kept = directory / CONFIG, entry.get("chunks")
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
    for _ in read_each((chunk.check for chunk in chunks), Record.again):
        pass
    return chunks


class CellBest(NamedTuple):
    """The best mapping of a cell.

    Args:
        problem: its index in the sweep.
        mapper: name of what found it.
        seed: of the search.
        vector: the mapping; None if none was valid.
        value: of the objective; None if none was valid.
        samples: evaluations of the search.
        bound: no mapping has a lower value; None of a mapper that proves nothing.
    """

    problem: int
    mapper: str
    seed: int
    vector: tuple[int, ...] | None
    value: float | None
    samples: int
    bound: float | None


def recorded_chunks(directory: Path) -> list[Chunk]:
    """Return the chunks of a sweep's directory, searched or not.

    Raises:
        RecordError: no sweep's directory, or one that cannot be read.
    """
    path = directory / CONFIG
    entry = read_record(path, ANEW)
    try:
        return make_chunks(_sweep(entry["sweep"]), entry["chunks"], directory, {})
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise RecordError(f"cannot read {path}: {error!r}; {ANEW}") from None


def best_mappings(chunks: Iterable[Chunk]) -> Iterator[CellBest]:
    """Yield what the searched cells found, chunk by chunk.

    Raises:
        RecordError: a record that was changed or holds something else.
    """
    for chunk in chunks:
        if (found := chunk.read()) is None:
            continue
        columns, _ = found
        try:
            points = [_point(text) for text in columns[VECTOR]]
        except (AttributeError, ValueError) as error:
            raise RecordError(f"{chunk.path} has no vectors: {error}") from None
        sweep = chunk.sweep
        names = ("value", "evaluations", "bound")
        figures = zip(points, *(columns[name] for name in names), strict=True)
        for cell, each in enumerate(figures, chunk.start):
            problem, seed = divmod(cell, sweep.seeds)
            yield CellBest(problem, sweep.mappers[chunk.mapper], sweep.seed + seed, *each)


def checked_goal(directory: Path, sweep: Sweep, best: CellBest) -> Goal:
    """Return the goal of a cell, whose mapping has the value that its record tells.

    Raises:
        RecordError: it has another one, as after a change of the cost model.
    """
    goal = sweep.goal(best.problem)
    try:
        goal.check_best(best.vector, best.value)
    except ValueError as error:
        called = ", ".join(sweep.names(best.problem))
        raise RecordError(f"{directory}: {called}, {best.mapper}: {error}; {ANEW}") from None
    return goal


def versions_of(chunks: Iterable[Chunk]) -> list[Versions]:
    """Return the versions that computed each of the searched chunks."""
    return [read_json(each.path).get("versions", {}) for each in chunks if each.path.exists()]


def _point(text: str | None) -> tuple[int, ...] | None:
    return None if text is None else tuple(map(int, text.split()))


def _sweep(described: dict[str, Any]) -> Sweep:
    """Make the sweep of what ``Sweep.describe`` returned."""
    layers = [each | {"stride": tuple(each["stride"])} for each in described["layers"]]
    return Sweep(
        ProblemConfig(**described["problem"]),
        tuple(Layer(**each) for each in layers),
        tuple(LayerSet(name, tuple(a), tuple(b)) for name, a, b in described["sets"]),
        tuple(map(recorded_accelerator, described["hardware"])),
        tuple(described["objectives"]),
        tuple(described["mappers"]),
        described["samples"],
        described["seeds"],
        described["seed"],
    )
