"""How long an update of all agents reads replay, by layout and sampler.

A round is what MADDPG reads to update N agents once: N joint samples of all agents, each of rows
of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from statistics import median

import numpy as np

from maestro_env.experiments.papers.replay.measuring import (
    GIB,
    Full,
    begin,
    readers,
    sampler_of,
)
from maestro_env.experiments.shown.tables import Table, significant
from maestro_env.experiments.store.timing import measured, now
from maestro_env.mappers.papers.replay.layouts import Replay
from maestro_env.mappers.papers.replay.samplers import Prioritised


@dataclass(frozen=True)
class Sampling(Full):
    """What is measured: everything for each number of agents, with a full replay."""

    samplers: Sequence[str]
    repeats: int


@dataclass(frozen=True)
class Measured:
    """The medians of a round, in milliseconds."""

    agents: int
    layout: str
    sampler: str
    dtype: str
    entries: int
    batch: int
    repeats: int
    replay_gib: float
    wall_ms: float
    cpu_ms: float


def measure(sampling: Sampling, memory_gib: float, csv: str | None) -> int:
    """Measure, print, write after every replay if asked to, and return the exit status."""
    begin(sampling, memory_gib, csv)
    cases = {
        f"{layout}, {agents} agents": partial(_times, sampling, agents, layout)
        for agents, layout in product(sampling.agents, sampling.layouts)
    }
    rows, status = measured(cases, csv)
    if rows:
        _table(sampling, rows).print()
    return status


def _times(sampling: Sampling, agents: int, layout: str) -> Iterator[Measured]:
    """Yield the medians of all samplers with one replay.

    Samplers take turns, so that a spell of other load on the machine slows all of them.
    """
    replay = sampling.filled(layout, agents)
    works = [_round(sampling, replay, name, agents) for name in sampling.samplers]
    taken = [[_seconds(work) for work in works] for _ in range(sampling.repeats)]
    for name, each in zip(sampling.samplers, zip(*taken, strict=True), strict=True):
        wall, cpu = (1000 * median(times) for times in zip(*each, strict=True))
        of_all = sampling.dtype, len(replay), sampling.batch, sampling.repeats, replay.nbytes / GIB
        yield Measured(agents, layout, name, *of_all, wall, cpu)


def _round(sampling: Sampling, replay: Replay, name: str, agents: int) -> Callable[[], None]:
    """Return what reads the joint samples of one round, after it has done so once."""
    rng = np.random.default_rng(0)
    sampler = sampler_of(name, replay, rng)
    if isinstance(sampler, Prioritised):
        sampler.update(np.arange(len(replay)), rng.exponential(size=len(replay)))

    def read() -> None:
        # What is gathered are copies: nothing is left to be read later.
        for _ in sampling.read(replay, sampler, readers(name, agents)):
            pass

    read()
    return read


def _seconds(work: Callable[[], None]) -> tuple[float, float]:
    """Return the wall time and the CPU time."""
    wall, cpu = now()
    work()
    wall_after, cpu_after = now()
    return wall_after - wall, cpu_after - cpu


def _table(sampling: Sampling, rows: Sequence[Measured]) -> Table:
    first = {row.agents: row for row in rows if (row.layout, row.sampler) == ("list", "uniform")}
    cells = [
        (
            row.agents,
            row.layout,
            row.sampler,
            significant(row.wall_ms),
            significant(row.cpu_ms),
            *_ratios(row, first.get(row.agents)),
            significant(row.replay_gib, 3),
        )
        for row in rows
    ]
    return Table(
        f"{sampling.capacity:,} entries, {sampling.dtype}, N samples of {sampling.batch:,} rows",
        ("agents", "layout", "sampler"),
        ("wall ms", "CPU ms", "wall /\nlist", "CPU /\nlist", "replay\nGiB"),
        cells,
        f"a round: medians of {sampling.repeats}; / list: divided by those of list, uniform",
    )


def _ratios(row: Measured, first: Measured | None) -> tuple[str, str]:
    """Return both times divided by those of uniform sampling from lists, if they are known."""
    if first is None:
        return "-", "-"
    ratios = row.wall_ms / first.wall_ms, row.cpu_ms / first.cpu_ms
    return significant(ratios[0], 3), significant(ratios[1], 3)
