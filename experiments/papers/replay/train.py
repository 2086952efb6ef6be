"""What agents learn with each sampler, from several seeds.

A directory keeps a record of every training; they go seed by seed, so that a part of them treats
all samplers alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from maestro_env.base.checks import look_up, plain_integer
from maestro_env.base.errors import quoted
from maestro_env.experiments.papers.replay.measuring import GIB, Full
from maestro_env.experiments.papers.replay.measuring import SAMPLERS as OF_SAMPLE
from maestro_env.experiments.papers.replay.returns import Key, tables
from maestro_env.experiments.papers.replay.training import (
    COPIES,
    LEARNERS,
    TASKS,
    Setup,
    Trained,
    Training,
    require_learner,
)
from maestro_env.experiments.shell.flags import UsageError
from maestro_env.experiments.store.running import run_setups
from maestro_env.mappers.papers.replay.layouts import DTYPES
from maestro_env.mappers.papers.tasks.physics import DIRECTIONS
from maestro_env.mappers.papers.tasks.task import EPISODE

# Learners give no errors that rows could be ranked by.
SAMPLERS = {name: None for name in OF_SAMPLE if name != "prioritised"}

# Of a weight: itself, its gradient, two of Adam and its target. First layers have the most.
_NUMBERS_A_WEIGHT, _HIDDEN = 5, 64

MOST_ROWS = 10**6
"""The largest batch."""


@dataclass(frozen=True)
class Trainings:
    """What is trained: everything for each number of agents.

    Args:
        samplers: names, some with a batch of their own as in ``uniform:192``.
        batch: rows of a joint sample of the other samplers.
        others: as in ``Setup``.
    """

    task: str
    agents: Sequence[int]
    learner: str
    samplers: Sequence[str]
    batch: int
    episodes: int
    seeds: int
    capacity: int
    dtype: str

    def setups(self) -> list[Setup]:
        """Return all trainings, seed by seed.

        Raises:
            UsageError, MissingExtraError, UnknownNameError: some cannot be.
        """
        look_up("task", self.task, TASKS)
        look_up("learner", self.learner, LEARNERS)
        look_up("dtype of a replay", self.dtype, DTYPES)
        require_learner(self.learner)
        self._require_enough()
        samplers = dict.fromkeys(map(self._sampler, self.samplers))
        return [
            Setup(
                self.task,
                agents,
                self.learner,
                sampler,
                batch,
                seed,
                self.episodes,
                # All samplers begin at the same time, however many rows they draw.
                self.batch * EPISODE,
                self.capacity,
                self.dtype,
            )
            for seed, agents, (sampler, batch) in product(range(self.seeds), self.agents, samplers)
        ]

    @property
    def title(self) -> str:
        """What the table is of."""
        return f"{self.learner} on {self.task}, {self.episodes:,} episodes"

    def _sampler(self, text: str) -> tuple[str, int]:
        """Return the name and the batch of a sampler."""
        name, colon, rows = text.partition(":")
        look_up("sampler of train", name, SAMPLERS)
        batch = plain_integer(rows) if colon else self.batch
        if batch is None or not 1 <= batch <= MOST_ROWS:
            raise UsageError(
                f"--samplers: {quoted(text)}; allowed after the colon: integers from 1 to "
                f"{MOST_ROWS}, the rows of a batch"
            )
        return name, batch

    def require_memory(self, memory_gib: float) -> None:
        """Refuse replay that takes more, or networks: weights, gradients, Adam and targets."""
        Full(self.agents, ("joint",), self.capacity, self.batch, self.dtype).require_memory(
            memory_gib
        )
        agents = max(self.agents)
        (seen, *_), acted = TASKS[self.task](1, agents).widths, len(DIRECTIONS)
        needed = _NUMBERS_A_WEIGHT * 4 * agents**2 * (seen + acted) * _HIDDEN / GIB
        if needed > memory_gib:
            raise UsageError(
                f"--agents {agents}: networks take {needed:.1f} GiB, --memory-gib allows "
                f"{memory_gib:g}; give fewer agents"
            )

    def _require_enough(self) -> None:
        """Refuse what cannot be played, or ends before anything is learnt."""
        if self.episodes % COPIES:
            raise UsageError(
                f"--episodes {self.episodes}; allowed: multiples of {COPIES}, which are played at "
                "once"
            )
        if self.episodes <= self.batch:
            raise UsageError(
                f"--episodes {self.episodes}; allowed with --batch {self.batch}: more than "
                f"{self.batch}, as the first update waits for {EPISODE} rows for each of a batch"
            )
        if self.capacity < COPIES * EPISODE:
            raise UsageError(
                f"--capacity {self.capacity}; allowed: {COPIES * EPISODE} or more, which are "
                "added at once"
            )


def conduct(trainings: Trainings, config: Any) -> int:
    """Train what is not there yet, print tables, and return the exit status."""
    setups = trainings.setups()
    trainings.require_memory(config.memory_gib)
    return run_setups(
        "replay",
        config,
        {name: getattr(trainings, name) for name in ("episodes", "batch", "capacity", "dtype")},
        ("torch",),
        Training,
        setups,
        lambda works: _report(trainings.title, works),
    )


def _report(title: str, works: Sequence[Training]) -> None:
    found: dict[Key, list[Trained]] = {}
    for work in works:
        if (trained := work.read()) is not None:
            found.setdefault(work.setup.key, []).append(trained)
    if found:
        for table in tables(title, found):
            table.print()
