"""Full replays, what batches of their samplers are worth, and how long they take to read.

A round is what MADDPG reads to update N agents once: N joint samples of all agents, each of rows
of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from statistics import median

import numpy as np

from maestro_env.experiments.shell.flags import UsageError
from maestro_env.experiments.shown.statistics import Floats
from maestro_env.experiments.shown.tables import Table, significant
from maestro_env.experiments.store.timing import measured, now, tell_circumstances
from maestro_env.mappers.papers.replay.layouts import Batch, Fields, Replay, make_replay
from maestro_env.mappers.papers.replay.samplers import SAMPLERS as OF_REPLAY
from maestro_env.mappers.papers.replay.samplers import Prioritised, Sampler, make_sampler
from maestro_env.mappers.parts.arrays import Floats32

SHARED = "shared"
SAMPLERS: Mapping[str, object] = {**OF_REPLAY, SHARED: None}
"""Those of replay, and one uniform batch for all agents, which changes the algorithm."""

GIB = 2**30

_ACTION = 5
_EPISODE, _COPIES = 25, 32
# Entries times agents from which the memory of more is extrapolated; but an episode at least.
_PROBE = 1000


@dataclass(frozen=True)
class Full:
    """Full replays of steps of predator-prey: observations of 10 + 2 N numbers, actions of 5."""

    agents: Sequence[int]
    layouts: Sequence[str]
    capacity: int
    batch: int
    dtype: str

    def filled(self, layout: str, agents: int, capacity: int | None = None) -> Replay:
        """Return a replay full of noise: steps of many copies, episodes are cut after 25 steps."""
        rng = np.random.default_rng(agents)

        def draw(width: int) -> Floats32:
            return rng.standard_normal((copies, width), np.float32)

        of_agents = Fields((10 + 2 * agents,) * agents, (_ACTION,) * agents)
        replay = make_replay(layout, of_agents, capacity or self.capacity, self.dtype)
        copies = min(_COPIES, max(replay.capacity // _EPISODE, 1))
        seen = [[draw(width) for width in of_agents.observations] for _ in range(_EPISODE + 1)]
        actions = [draw(width) for width in of_agents.actions]
        rewards, dones = draw(agents), np.zeros((copies, agents), np.float32)
        while replay.added < replay.capacity:
            step = replay.added // copies % _EPISODE
            replay.add(seen[step], actions, rewards, seen[step + 1], dones)
        return replay

    def require_memory(self, memory_gib: float) -> None:
        """Refuse a replay that takes more, and say how many entries all of them may have."""
        probes = {each: max(_PROBE // each, _EPISODE) for each in self.agents}
        entry, agents, layout = max(
            (self.filled(layout, agents, probe).nbytes / probe, agents, layout)
            for (agents, probe), layout in product(probes.items(), self.layouts)
        )
        needed = entry * self.capacity / GIB
        if needed > memory_gib:
            raise UsageError(
                f"--capacity {self.capacity}: {layout} with {agents} agents takes {needed:.2f} "
                f"GiB, --memory-gib allows {memory_gib:g}; at most --capacity "
                f"{int(memory_gib * GIB / entry)} fits"
            )

    def read(self, replay: Replay, sampler: Sampler, agents: int) -> Iterator[Batch]:
        """Yield the joint samples of one update of some agents."""
        for _ in range(agents):
            yield replay.gather(sampler.rows(self.batch))


def sampler_of(name: str, replay: Replay, rng: np.random.Generator) -> Sampler:
    """Return the sampler that draws rows; ``SHARED`` draws as uniform does."""
    return make_sampler("uniform" if name == SHARED else name, replay, rng)


def readers(name: str, agents: int) -> int:
    """Return how many joint samples an update of all agents reads."""
    return 1 if name == SHARED else agents


def begin(full: Full, memory_gib: float, csv: str | None) -> None:
    """Refuse what cannot be measured or written, then print when and where it is measured."""
    full.require_memory(memory_gib)
    tell_circumstances(csv)


_BATCHES = 1000


@dataclass(frozen=True)
class Worth:
    """Independent rows that a batch is worth, by what is averaged."""

    observations: float
    rewards: float


def worth(replay: Replay, sampler: Sampler, batch: int) -> Worth:
    """Return what batches of a sampler are worth, from the means of 1,000 of them.

    Each is of all numbers of a kind: the variances of their means, divided by the variances of the
    numbers themselves over all rows, are averaged. Numbers that never change do not count.
    """
    every = replay.gather(np.arange(len(replay)))
    table = np.hstack([*every.observations, every.rewards]).astype(np.float64)
    means = np.array([table[sampler.rows(batch)].mean(axis=0) for _ in range(_BATCHES)])
    seen = sum(replay.fields.observations)
    kinds = (slice(seen), slice(seen, None))
    return Worth(*(_rows(table[:, kind], means[:, kind]) for kind in kinds))


def _rows(numbers: Floats, means: Floats) -> float:
    """Return the independent rows whose means vary as those of batches, float64[..., w] each."""
    variances = numbers.var(axis=0)
    changing = variances > 0
    return float(1 / (means.var(axis=0, ddof=1)[changing] / variances[changing]).mean())


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
