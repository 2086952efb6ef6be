"""What agents learn with each sampler, from several seeds: all trainings, and their tables.

A directory keeps a record of every training; they go seed by seed, so that a part of them treats
all samplers alike.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from maestro_env.base.checks import look_up, plain_integer
from maestro_env.base.errors import quoted
from maestro_env.experiments.papers.replay.sample import GIB, Full
from maestro_env.experiments.papers.replay.sample import SAMPLERS as OF_SAMPLE
from maestro_env.experiments.papers.replay.training import (
    COPIES,
    LAST,
    LEARNERS,
    TASKS,
    Setup,
    Trained,
    Training,
    require_learner,
)
from maestro_env.experiments.shell.flags import UsageError
from maestro_env.experiments.shown.statistics import Floats, has_interval, stratified_interval
from maestro_env.experiments.shown.tables import Table, significant
from maestro_env.experiments.store.running import run_setups
from maestro_env.mappers.papers.replay.layouts import DTYPES
from maestro_env.mappers.papers.tasks import EPISODE
from maestro_env.mappers.papers.tasks.physics import DIRECTIONS

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


CERTAIN = 5.0
"""Standard errors above random from which agents have learnt."""

WIDEST = 20.0
"""Per cent: a wider interval decides nothing."""

Key = tuple[int, str, int]
"""Agents, sampler and batch."""


_KINDS = ("observations", "rewards")
_RETURNS = ("seeds", "random", "half", "last", "SE above\nrandom")
_NOTE = (
    f"mean returns of {LAST:,} episodes: of random agents, to half of the training, to its "
    f"end; SE: standard errors over seeds; from {CERTAIN:g} on they have learnt"
)
_DIFFERENCES = ("to the first, %", "rows\nseen", "rows\npaid", "CPU\nmin")
_NOTE_OF_DIFFERENCES = (
    "to the first: in % of what it returned above random, with the 95 % interval over "
    f"seeds; one wider than {WIDEST:g} does not decide the size, nor does a first that has "
    "not learnt; rows: independent ones whose mean observation or reward varies as that "
    "of a batch, in replay of random agents"
)


def standard_errors(trained: Floats, random: Floats) -> float | None:
    """Return how many standard errors the mean of returns is above that of random agents.

    Args:
        trained: float64[S], of S seeds.
        random: float64[S], of the same seeds.

    Returns:
        None for one seed; infinite where all seeds have the same difference.
    """
    above = trained - random
    if len(above) < 2:
        return None
    error = above.std(ddof=1) / math.sqrt(len(above))
    return float(above.mean() / error) if error else math.copysign(math.inf, above.mean())


def difference(first: Floats, other: Floats, random: Floats) -> tuple[float, float, float] | None:
    """Return a difference in per cent of what the first returned above random, and its interval.

    Args:
        first: float64[S], returns with the first sampler, by seed.
        other: float64[T], with another one.
        random: float64[U], of random agents.

    Returns:
        The difference of the means, and both ends of its 95 % bootstrap interval over seeds; None
        where a seed is all there is.
    """
    strata = [first, other, random]

    def figure(drawn: Sequence[Floats]) -> Floats:
        base, changed, zero = (each.mean(axis=0) for each in drawn)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares: Floats = 100 * (changed - base) / (base - zero)
        return shares

    if not has_interval(strata):
        return None
    low, high = stratified_interval(strata, figure)
    return float(figure(strata)), float(low), float(high)


def tables(title: str, found: Mapping[Key, Sequence[Trained]]) -> tuple[Table, Table]:
    """Return the tables; differences are to the first sampler of as many agents."""
    firsts: dict[int, Sequence[Trained]] = {}
    returns, differences = [], []
    for (agents, sampler, batch), trained in found.items():
        first = firsts.setdefault(agents, trained)
        last, half, random = (_each(trained, name) for name in ("last", "half", "random"))
        worth = [each.worth for each in trained]
        who = agents, f"{sampler}:{batch}"
        means = (f"{each.mean():.2f}" for each in (random, half, last))
        returns.append((*who, len(trained), *means, _above(standard_errors(last, random))))
        differences.append(
            (
                *who,
                "-" if trained is first else _compared(first, last, random),
                *(f"{np.mean([getattr(w, of) for w in worth]):,.0f}" for of in _KINDS),
                significant(_each(trained, "cpu_seconds").mean() / 60, 3),
            )
        )
    keys = "agents", "sampler"
    return (
        Table(title, keys, _RETURNS, returns, _NOTE),
        Table("", keys, _DIFFERENCES, differences, _NOTE_OF_DIFFERENCES),
    )


def _each(trained: Sequence[Trained], name: str) -> Floats:
    return np.array([getattr(each, name) for each in trained])


def _above(errors: float | None) -> str:
    if errors is None:
        return "-"
    return f"{errors:.1f}" if errors >= CERTAIN else f"no, {errors:.1f}"


def _compared(first: Sequence[Trained], last: Floats, random: Floats) -> str:
    base = _each(first, "last")
    compared = difference(base, last, random)
    if compared is None:
        return "-"
    value, low, high = compared
    ends = f"({low:.0f} to {high:.0f})"
    learnt = standard_errors(base, _each(first, "random"))
    # An end that is no number decides nothing either.
    decided = learnt is not None and learnt >= CERTAIN and high - low <= WIDEST
    return f"{value:.1f} {ends}" if decided else f"not decided {ends}"
