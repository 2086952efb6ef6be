"""What measurements of replays share, and the tables of phases: the time of each in a round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from maestro_env.experiments.shell.flags import UsageError
from maestro_env.experiments.shell.printing import print_lines
from maestro_env.experiments.shown.statistics import Floats
from maestro_env.experiments.shown.tables import Table
from maestro_env.experiments.store.timing import tell_circumstances
from maestro_env.mappers.papers.replay.layouts import Batch, Fields, Replay, make_replay
from maestro_env.mappers.papers.replay.samplers import SAMPLERS as OF_REPLAY
from maestro_env.mappers.papers.replay.samplers import Sampler, make_sampler
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


SAMPLING, REST, WHOLE = "sampling", "rest", "whole"

UPDATE = {SAMPLING: 61, "target Q": 21, "Q loss": 10, "P loss": 8}
"""Phases of an update, and their percentages in Figure 4 of Gogineni et al. (2023)."""

PHASES = ("actions", "environment", *UPDATE, "soft update", REST)
"""All phases of a round."""

_MOST_MISSING = 0.03
# A table of more columns would not fit 80 characters.
_COLUMNS = 6
_FOLDS = str.maketrans(" _", "\n\n")


@dataclass(frozen=True)
class Phase:
    """The mean times of a phase, or of the whole of a round, in milliseconds."""

    agents: int
    variant: str
    layout: str
    sampler: str
    copies: int
    one_by_one: bool
    learner: str
    dtype: str
    entries: int
    batch: int
    rounds: int
    replay_gib: float
    weights: str
    phase: str
    wall_ms: float
    cpu_ms: float


_Training = dict[str, Phase]


def print_phases(rows: Sequence[Phase]) -> bool:
    """Print the tables and what the phases sum to; return whether that is the whole."""
    trainings: dict[tuple[int, str], _Training] = {}
    for row in rows:
        trainings.setdefault((row.agents, row.variant), {})[row.phase] = row
    every = list(trainings.values())
    for start in range(0, len(every), _COLUMNS):
        _print(every[start : start + _COLUMNS], every)
    sums = [sum(each[phase].cpu_ms for phase in PHASES) / each[WHOLE].cpu_ms for each in every]
    complete = all(abs(share - 1) <= _MOST_MISSING for share in sums)
    print_lines(
        f"phases sum to {100 * min(sums):.1f} to {100 * max(sums):.1f} % of the CPU time: "
        f"{'within' if complete else 'NOT within'} {100 * _MOST_MISSING:.0f} %"
    )
    return complete


def _print(trainings: Sequence[_Training], every: Sequence[_Training]) -> None:
    wholes = [each[WHOLE] for each in trainings]
    one = wholes[0]
    first = {each[WHOLE].agents: each[WHOLE].cpu_ms for each in reversed(every)}
    print_lines(
        f"{one.learner}, {one.entries:,} entries, batches of {one.batch:,}: CPU ms of a round"
    )
    Table(
        "",
        ("agents",),
        [f"{each.agents}\n{each.variant.translate(_FOLDS)}" for each in wholes],
        [
            *((phase, *(_part(each, phase) for each in trainings)) for phase in PHASES),
            (WHOLE, *(_ms(each.cpu_ms) for each in wholes)),
            ("wall time", *(_ms(each.wall_ms) for each in wholes)),
            ("times faster", *(f"{first[each.agents] / each.cpu_ms:.2f}" for each in wholes)),
            *(
                (f"{phase} ({share})", *(_part_of_update(each, phase) for each in trainings))
                for phase, share in UPDATE.items()
            ),
        ],
    ).print()
    print_lines(f"means of {one.rounds - 1} rounds; times faster than the first of as many agents")
    print_lines("last four: % of their sum (and in Figure 4 of Gogineni et al.)", "")


def _part(training: _Training, phase: str) -> str:
    milliseconds = training[phase].cpu_ms
    return f"{_ms(milliseconds)} {100 * milliseconds / training[WHOLE].cpu_ms:2.0f}%"


def _part_of_update(training: _Training, phase: str) -> str:
    return f"{100 * training[phase].cpu_ms / sum(training[each].cpu_ms for each in UPDATE):.0f}"


def _ms(milliseconds: float) -> str:
    return f"{milliseconds:.{0 if milliseconds >= 100 else 1 if milliseconds >= 10 else 2}f}"
