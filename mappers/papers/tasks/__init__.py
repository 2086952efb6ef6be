"""Tasks of which many copies step together, a file each kind: small worlds, and moves of a mapping.

Here is what all have in common: copies of a world whose agents act for some steps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from maestro_env.base.errors import MaestroEnvError
from maestro_env.mappers.parts.arrays import Floats, Floats32, Integers

EPISODE = 25
"""Steps of an episode, where a task has no length of its own."""

_MOST = 10_000


class TaskError(MaestroEnvError, ValueError):
    """A number of copies or discs, or actions, that a task does not take."""


class Task(ABC):
    """E copies of a task of N agents, which all act at every step.

    Copies have nothing in common: each would do the same without the others.

    Args:
        copies: E.
        heads: of each agent the number of its choices, one for each of its heads; D of all.
        length: steps of an episode.

    Attributes:
        finished: copies whose task has come to its end before the length or with it, bool[E]. They
            take part in no further step.
        widths: numbers in the observation of each agent.

    Raises:
        TaskError: a number outside 1 to 10,000.
    """

    widths: tuple[int, ...]

    def __init__(
        self, copies: int, heads: tuple[tuple[int, ...], ...], length: int = EPISODE
    ) -> None:
        require_counts(copies=copies, length=length)
        self.copies, self.agents, self.heads, self.length = copies, len(heads), heads, length
        self.finished = np.zeros(copies, dtype=bool)
        self._choices = np.concatenate(heads)
        self._left = 0

    def reset(self, rng: np.random.Generator) -> list[Floats32]:
        """Begin an episode in every copy; return each agent's observations, float32[E, o_i]."""
        self._begin(rng)
        self.finished = np.zeros(self.copies, dtype=bool)
        self._left = self.length
        return self._observe()

    def step(self, actions: Integers) -> tuple[list[Floats32], Floats32, Floats32]:
        """Let a time step pass.

        Args:
            actions: int64[E, D], the choice of each head, agent by agent.

        Returns:
            Observations, float32[E, o_i] of each agent; rewards, float32[E, N]; and dones,
            float32[E, N]: 1 where a copy is finished, and everywhere after the last step, which all
            copies take together.

        Raises:
            TaskError: the episode is over, or actions of another shape or beyond the last one.
        """
        if not self._left:
            raise TaskError("the episode is over; call reset() before the next step")
        shape = self.copies, len(self._choices)
        if actions.shape != shape or not ((actions >= 0) & (actions < self._choices)).all():
            lasts = sorted({count - 1 for count in self._choices.tolist()})
            raise TaskError(
                f"actions have shape {actions.shape}; allowed: {shape}, of integers from 0 to "
                f"{' or '.join(map(str, lasts))}"
            )
        rewards = self._act(actions).astype(np.float32)
        self._left -= 1
        ended = self.finished | (self._left == 0)
        dones = np.repeat(ended[:, np.newaxis], self.agents, axis=1).astype(np.float32)
        return self._observe(), rewards, dones

    @abstractmethod
    def _begin(self, rng: np.random.Generator) -> None:
        """Draw where every copy begins."""

    @abstractmethod
    def _act(self, actions: Integers) -> Floats:
        """Let a time step pass with actions int64[E, D]; return the rewards, float64[E, N]."""

    @abstractmethod
    def _observe(self) -> list[Floats32]:
        """Return what each agent sees, float32[E, o_i]."""


def require_counts(**counts: int) -> None:
    """Refuse numbers outside 1 to 10,000.

    Raises:
        TaskError: naming the first of them.
    """
    for name, count in counts.items():
        if not 1 <= count <= _MOST:
            raise TaskError(f"{name} is {count}; allowed: integers from 1 to {_MOST}")
