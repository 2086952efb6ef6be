"""Measures what a sweep takes beside its searches.

``python tests/sweep_scale.py CELLS...`` measures the queue and the store. Workers are simulated:
they claim chunks and write records as searches do, of made-up figures, and search nothing.
``python tests/sweep_scale.py --accelerators NUMBERS...`` measures the memory of real searches of so
many accelerators. CPU seconds and peak memory are those of one process a phase.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, fields
from io import StringIO
from itertools import chain, product
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from maestro_env.accelerators.hardware import Hardware
from maestro_env.experiments.search.goals import ProblemConfig
from maestro_env.experiments.store.records import Show
from maestro_env.experiments.store.running import run_records
from maestro_env.experiments.study.sweep.axes import Sweep, make_sweep
from maestro_env.experiments.study.sweep.chunks import NUMBERS, VECTOR, Chunk, open_sweep
from maestro_env.experiments.study.sweep.plan import check, chunk_sizes
from maestro_env.experiments.study.sweep.results import TABLE, report
from maestro_env.workloads.finding import find_network

CELLS = (1_000, 100_000, 1_000_000)
SEEDS = 5
LAYERS = 20
SAMPLES = 20
SECONDS_OF_A_CELL = (0.02, 2.0)
HEADER = (
    *("cells", "seconds a cell", "chunks", "check s", "open s", "queue s", "tables s"),
    *("claim and write a chunk ms", "records MiB", "results.csv MiB"),
    *("check MiB", "open MiB", "queue MiB", "tables MiB"),
)

SEARCH_HEADER = ("accelerators", "CPU s", "peak memory MiB")


@dataclass(frozen=True)
class Simulated(Chunk):
    """A chunk whose figures are made up."""

    def compute(self, show: Show) -> dict[str, Any]:
        rng, cells = np.random.default_rng(self.start), self.stop - self.start
        columns = {name: (1e6 * rng.random(cells)).tolist() for name in NUMBERS}
        vectors = rng.integers(1, 200, size=(cells, 13)).tolist()
        texts = [" ".join(map(str, vector)) for vector in vectors]
        return {"cells": {**columns, VECTOR: texts}}


def sweep_of(cells: int) -> Sweep:
    """Return a sweep of so many cells: 20 layers, 5 seeds, and accelerators."""
    layers = find_network("resnet50").layers[:LAYERS]
    hardware = [
        Hardware(16 + number, 512, 2**17, name=f"pes{16 + number}")
        for number in range(cells // (LAYERS * SEEDS))
    ]
    made = make_sweep(ProblemConfig(), [], layers, hardware, ["edp"], ["prior"], 500, SEEDS)
    assert made.cells == cells
    return made


def opened(cells: int, seconds: float, directory: Path) -> list[Chunk]:
    sweep = sweep_of(cells)
    return open_sweep(sweep, directory, {}, lambda: chunk_sizes(sweep, {"prior": seconds}))


def validate(cells: int, seconds: float, directory: Path) -> None:
    check(sweep_of(cells))


def begin(cells: int, seconds: float, directory: Path) -> None:
    opened(cells, seconds, directory)


def fill(cells: int, seconds: float, directory: Path) -> None:
    chunks = opened(cells, seconds, directory)
    run_records([Simulated(**dict(_given(chunk))) for chunk in chunks])


def _given(chunk: Chunk) -> list[tuple[str, object]]:
    return [(field.name, getattr(chunk, field.name)) for field in fields(Chunk)]


def tell(cells: int, seconds: float, directory: Path) -> None:
    with redirect_stdout(StringIO()):
        report(opened(cells, seconds, directory), directory)


def search(cells: int, seconds: float, directory: Path) -> None:
    """Run a sweep whose cells have an accelerator each, and write its tables."""
    layers = find_network("resnet50").layers[:1]
    hardware = [
        Hardware(16 + number, 512, 2**17, name=f"pes{16 + number}") for number in range(cells)
    ]
    sweep = make_sweep(ProblemConfig(), [], layers, hardware, ["edp"], ["random"], SAMPLES)
    check(sweep)
    chunks = open_sweep(sweep, directory, {}, lambda: chunk_sizes(sweep, {"random": seconds}))
    assert run_records(chunks) == 0
    with redirect_stdout(StringIO()):
        report(chunks, directory)


def measured(
    phase: Callable[[int, float, Path], None], cells: int, seconds: float, directory: Path
) -> tuple[float, float]:
    """Return the CPU seconds a phase takes in a process of its own, and its peak memory in MiB."""
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    process = spawn.Process(target=_measure, args=(there, phase, cells, seconds, directory))
    process.start()
    taken: tuple[float, float] = here.recv()
    process.join()
    return taken


def _measure(
    there: Connection,
    phase: Callable[[int, float, Path], None],
    cells: int,
    seconds: float,
    directory: Path,
) -> None:
    began = time.process_time()
    phase(cells, seconds, directory)
    taken = time.process_time() - began
    there.send((taken, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))


def row(cells: int, seconds: float) -> list[str]:
    """Measure all phases of a sweep of so many cells that take so long, in a new directory."""
    with TemporaryDirectory() as made:
        directory = Path(made)
        phases = (validate, begin, fill, tell)
        taken = [measured(phase, cells, seconds, directory) for phase in phases]
        chunks = len(list(directory.glob("chunks/*/*.json")))
        kept = sum(path.stat().st_size for path in directory.rglob("*.json"))
        table = (directory / TABLE).stat().st_size
    times = [each for each, _ in taken]
    return [
        *(f"{cells:,}", f"{seconds:g}", f"{chunks:,}"),
        *(f"{each:,.2f}" for each in times),
        f"{1000 * (times[2] - times[1]) / chunks:.2f}",
        *(f"{size / 2**20:,.1f}" for size in (kept, table)),
        *(f"{memory:,.0f}" for _, memory in taken),
    ]


def search_row(accelerators: int) -> list[str]:
    """Search so many accelerators in a new directory."""
    with TemporaryDirectory() as made:
        seconds, memory = measured(search, accelerators, SECONDS_OF_A_CELL[0], Path(made))
    return [f"{accelerators:,}", f"{seconds:,.1f}", f"{memory:,.0f}"]


def show(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a row of a Markdown table at a time."""
    for line in chain((header, ["---:"] * len(header)), rows):
        sys.stdout.write(f"| {' | '.join(line)} |\n")
        sys.stdout.flush()


def main(texts: list[str]) -> None:
    """Print one of the tables."""
    if texts[:1] == ["--accelerators"]:
        show(SEARCH_HEADER, map(search_row, map(int, texts[1:])))
        return
    sizes = [int(each) for each in texts] or CELLS
    show(HEADER, (row(cells, seconds) for seconds, cells in product(SECONDS_OF_A_CELL, sizes)))


if __name__ == "__main__":
    main(sys.argv[1:])
