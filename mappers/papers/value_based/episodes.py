"""Whole episodes: played with a task, remembered in a replay, and drawn from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from maestro_env.mappers.papers.replay.layouts import (
    Batch,
    Fields,
    JointReplay,
    Replay,
    ReplayError,
)
from maestro_env.mappers.papers.tasks import Task
from maestro_env.mappers.parts.arrays import Floats, Floats32, Integers

Acting = Callable[[Sequence[Floats32]], Integers]
"""From what each agent sees, float32[E, o_i], to the choices of all heads, int64[E, D]."""

REMEMBERED, NEWEST, RECENT = 5000, 128, 12
"""MAST's two buffers: episodes of both, and how many of a batch are from the newer one."""


class Episodes:
    """The newest episodes of a task, all of the same length, as rows of a replay.

    An episode of T steps of E copies fills E * T consecutive rows, and the ring holds a whole
    number of these: no episode crosses its head. The newest episodes are a part of the ring, so
    that batches from all and from the newest ones (MAST's two buffers) need one replay.

    Args:
        task: whose episodes they are.
        most: how many to remember; rounded up to a whole number of E.
        rng: draws.
    """

    def __init__(self, task: Task, most: int, rng: np.random.Generator) -> None:
        self.length, self._copies, self._rng = task.length, task.copies, rng
        self._blocks = -(-most // task.copies)
        fields = Fields(task.widths, tuple(len(counts) for counts in task.heads))
        self.replay: Replay = JointReplay(fields, self._blocks * task.copies * task.length)

    @property
    def numbers(self) -> range:
        """The numbers of the episodes that are there from end to end, counted from the first."""
        blocks, begun = divmod(self.replay.added, self._copies * self.length)
        # One that has begun overwrites the oldest.
        oldest = max(0, blocks + (begun > 0) - self._blocks)
        return range(oldest * self._copies, blocks * self._copies)

    def rows(self, numbers: Integers) -> Integers:
        """Return the rows of episodes, int64[T, B]: step after step."""
        blocks, copies = np.divmod(numbers, self._copies)
        steps = blocks * self.length + np.arange(self.length)[:, np.newaxis]
        return (steps * self._copies + copies) % self.replay.capacity

    def draw(self, batch: int, recent: int = 0, newest: int = NEWEST) -> Batch:
        """Return T * batch rows: the first steps of all episodes, then the second ones.

        Args:
            batch: how many episodes; one may be there more than once.
            recent: how many of them are drawn from the newest only.
            newest: how many these are.

        Raises:
            ReplayError: there is no episode yet, or more recent ones are wanted than there are in
                the batch.
        """
        if not 0 <= recent <= batch:
            raise ReplayError(f"{recent} recent episodes; allowed: 0 to the batch of {batch}")
        there = self.numbers
        if not there:
            raise ReplayError("no episode is there: play one before drawing")
        first, end = there.start, there.stop
        numbers = np.concatenate(
            [
                self._rng.integers(first, end, batch - recent),
                self._rng.integers(max(first, end - newest), end, recent),
            ]
        )
        return self.replay.gather(self.rows(numbers).ravel())


def play(task: Task, act: Acting, rng: np.random.Generator, replay: Replay | None = None) -> Floats:
    """Play an episode in every copy of a task; return the sums of the team's rewards, float64[E].

    The team's reward is the mean of those of its agents.

    Args:
        task: what is played.
        act: chooses.
        rng: draws where episodes begin.
        replay: remembers the steps: choices as numbers, and as dones what the task has finished.
            None to remember nothing.
    """
    seen, total = task.reset(rng), np.zeros(task.copies)
    ends = np.cumsum([len(counts) for counts in task.heads])[:-1]
    for _ in range(task.length):
        actions = act(seen)
        following, rewards, _ = task.step(actions)
        total += rewards.mean(axis=1)
        if replay is not None:
            # A length is no end for the values of the last states.
            dones = np.repeat(task.finished[:, np.newaxis], task.agents, axis=1)
            own = np.split(actions.astype(np.float32), ends, axis=1)
            replay.add(seen, own, rewards, following, dones.astype(np.float32))
        seen = following
    return total
