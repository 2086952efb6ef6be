"""How long an update of all agents reads replay, by layout and sampler.

A round is what MADDPG reads to update N agents once: N joint samples of all agents, each of rows
of its own. Observations have 10 + 2 N numbers, as those of predator-prey grow, and actions 5.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median

import numpy as np

from experiments.shell import cli
from experiments.shell.files import ensure_directory, write_csv
from experiments.shell.flags import UsageError
from experiments.shown.progress import Bar
from experiments.shown.tables import Sheet, significant
from experiments.store.versions import processor, versions
from maestro_env.base.threads import processors
from mappers.learners.replay.layouts import Fields, Floats, Replay, make_replay
from mappers.learners.replay.samplers import SAMPLERS as OF_REPLAY
from mappers.learners.replay.samplers import Prioritised, Sampler, make_sampler

SHARED = "shared"
SAMPLERS: Mapping[str, object] = {**OF_REPLAY, SHARED: None}
"""Those of replay, and one uniform batch for all agents, which changes the algorithm."""

_ACTION = 5
_EPISODE, _COPIES = 25, 32
# Entries from which the memory of more is extrapolated.
_PROBE = 1000
_GIB = 2**30


@dataclass(frozen=True)
class Sampling:
    """What is measured: everything for each number of agents, with a full replay."""

    agents: Sequence[int]
    capacity: int
    batch: int
    layouts: Sequence[str]
    samplers: Sequence[str]
    dtype: str
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


def sampler_of(name: str, replay: Replay, rng: np.random.Generator) -> Sampler:
    """Return the sampler that draws rows; ``SHARED`` draws as uniform does."""
    return make_sampler("uniform" if name == SHARED else name, replay, rng)


def readers(name: str, agents: int) -> int:
    """Return how many joint samples an update of all agents reads."""
    return 1 if name == SHARED else agents


def measure(sampling: Sampling, memory_gib: float, csv: str | None) -> int:
    """Measure, print, write after every replay if asked to, and return the exit status."""
    if csv is not None:
        ensure_directory(Path(csv).parent)
    _require_memory(sampling, memory_gib)
    _print_circumstances()
    rings = list(product(sampling.agents, sampling.layouts))
    rows: list[Measured] = []
    status = 0
    try:
        with Bar("replay", len(rings)) as bar:
            for done, (agents, layout) in enumerate(rings):
                bar.show(done, f"{layout}, {agents} agents")
                rows += _times(sampling, agents, layout)
                if csv is not None:
                    _write(Path(csv), rows)
    except KeyboardInterrupt:
        print(f"interrupted: {len(rows)} rows were measured", file=sys.stderr)
        status = cli.INTERRUPTED
    if rows:
        _sheet(sampling, rows).print()
    return status


def _require_memory(sampling: Sampling, memory_gib: float) -> None:
    """Refuse a replay that takes more, and say how many entries all of them may have."""
    probe = min(sampling.capacity, _PROBE)
    entry, agents, layout = max(
        (_filled(layout, agents, probe, sampling.dtype).nbytes / probe, agents, layout)
        for agents, layout in product(sampling.agents, sampling.layouts)
    )
    needed = entry * sampling.capacity / _GIB
    if needed > memory_gib:
        raise UsageError(
            f"--capacity {sampling.capacity}: {layout} with {agents} agents takes {needed:.2f} "
            f"GiB, --memory-gib allows {memory_gib:g}; at most --capacity "
            f"{int(memory_gib * _GIB / entry)} fits"
        )


def _print_circumstances() -> None:
    installed = versions()
    print(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, commit {installed['commit'] or '-'}")
    print(f"{processor()}, numpy {installed['numpy']}")
    print(f"{processors()} processors, load {os.getloadavg()[0]:.1f}; 1 thread\n", flush=True)


def _filled(layout: str, agents: int, capacity: int, dtype: str) -> Replay:
    """Return a full replay of steps of many copies, whose episodes are cut after 25 steps."""
    rng = np.random.default_rng(agents)

    def draw(width: int) -> Floats:
        return rng.standard_normal((copies, width), np.float32)

    of_agents = Fields((10 + 2 * agents,) * agents, (_ACTION,) * agents)
    replay = make_replay(layout, of_agents, capacity, dtype)
    copies = min(_COPIES, capacity)
    seen = [[draw(width) for width in of_agents.observations] for _ in range(_EPISODE + 1)]
    actions = [draw(width) for width in of_agents.actions]
    rewards, dones = draw(agents), np.zeros((copies, agents), np.float32)
    while replay.added < capacity:
        step = replay.added // copies % _EPISODE
        replay.add(seen[step], actions, rewards, seen[step + 1], dones)
    return replay


def _times(sampling: Sampling, agents: int, layout: str) -> Iterator[Measured]:
    """Yield the medians of all samplers with one replay.

    Samplers take turns, so that a spell of other load on the machine slows all of them.
    """
    replay = _filled(layout, agents, sampling.capacity, sampling.dtype)
    rounds = [partial(_round, replay, name, agents, sampling.batch) for name in sampling.samplers]
    works = [each() for each in rounds]
    taken = [[_seconds(work) for work in works] for _ in range(sampling.repeats)]
    for name, seconds in zip(sampling.samplers, zip(*taken, strict=True), strict=True):
        wall, cpu = (1000 * median(each) for each in zip(*seconds, strict=True))
        of_all = sampling.dtype, len(replay), sampling.batch, sampling.repeats, replay.nbytes / _GIB
        yield Measured(agents, layout, name, *of_all, wall, cpu)


def _round(replay: Replay, name: str, agents: int, batch: int) -> Callable[[], None]:
    """Return what reads the joint samples of one round, after it has done so once."""
    rng = np.random.default_rng(0)
    sampler = sampler_of(name, replay, rng)
    if isinstance(sampler, Prioritised):
        sampler.update(np.arange(len(replay)), rng.exponential(size=len(replay)))

    def read() -> None:
        # What is gathered are copies: nothing is left to be read later.
        for _ in range(readers(name, agents)):
            replay.gather(sampler.rows(batch))

    read()
    return read


def _seconds(work: Callable[[], None]) -> tuple[float, float]:
    """Return the wall time and the CPU time."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def _write(path: Path, rows: Sequence[Measured]) -> None:
    names = [field.name for field in fields(Measured)]
    write_csv(path, names, (asdict(row).values() for row in rows))


def _sheet(sampling: Sampling, rows: Sequence[Measured]) -> Sheet:
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
    return Sheet(
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
