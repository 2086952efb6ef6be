"""What all tasks have in common: agents that move in a world for 25 steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from maestro_env.base.errors import MaestroEnvError
from mappers.learners.tasks.physics import DIRECTIONS, Bodies, Floats32, World
from mappers.parts.arrays import Floats, Integers

EPISODE = 25
"""Steps of an episode."""

_MOST = 10_000


class TaskError(MaestroEnvError, ValueError):
    """A number of copies or discs, or actions, that a task does not take."""


class Task(ABC):
    """E copies of a task of N agents, which take one of five actions at every step.

    Copies have nothing in common: each would do the same without the others.

    Args:
        counts: the numbers of ``copies`` (E) and of all discs, by name; 1 or more.
        kinds: the discs, the agents first.

    Attributes:
        world: positions and velocities.
        widths: numbers in the observation of each agent.
        heads: of each agent the number of its actions.

    Raises:
        TaskError: a number outside 1 to 10,000.
    """

    def __init__(self, counts: dict[str, int], kinds: Sequence[Bodies]) -> None:
        for name, count in counts.items():
            if not 1 <= count <= _MOST:
                raise TaskError(f"{name} is {count}; allowed: integers from 1 to {_MOST}")
        self.copies, self.agents = counts["copies"], kinds[0].count
        self.world = world = World(self.copies, kinds)
        self._others = _others(self.agents, world.velocities.shape[1], world.positions.shape[1])
        self._left = 0
        self.heads = ((len(DIRECTIONS),),) * self.agents
        self.widths = tuple(seen.shape[1] for seen in self._observe())

    def reset(self, rng: np.random.Generator) -> list[Floats32]:
        """Begin an episode in every copy; return each agent's observations, float32[E, o_i]."""
        self.world.reset(rng)
        self._left = EPISODE
        return self._observe()

    def step(self, actions: Integers) -> tuple[list[Floats32], Floats32, Floats32]:
        """Let a time step pass.

        Args:
            actions: int64[E, N], indices of ``DIRECTIONS``.

        Returns:
            Observations, float32[E, o_i] of each agent; rewards, float32[E, N]; and dones,
            float32[E, N]: 1 after the last step, 0 before. Episodes end by their length only, in
            all copies at once.

        Raises:
            TaskError: the episode is over, or actions of another shape or beyond the last one.
        """
        if not self._left:
            raise TaskError("the episode is over; call reset() before the next step")
        shape = self.copies, self.agents
        if actions.shape != shape or not ((actions >= 0) & (actions < len(DIRECTIONS))).all():
            raise TaskError(
                f"actions have shape {actions.shape}; allowed: {shape}, of integers from 0 to "
                f"{len(DIRECTIONS) - 1}"
            )
        self.world.step(self._all_actions(actions))
        self._left -= 1
        dones = np.full(shape, not self._left, dtype=np.float32)
        return self._observe(), self._rewards().astype(np.float32), dones

    def _all_actions(self, actions: Integers) -> Integers:
        """Return the actions of all discs that move, int64[E, A], of those of the agents."""
        return actions

    @abstractmethod
    def _rewards(self) -> Floats:
        """Return the rewards of the present positions, float64[E, N]."""

    @abstractmethod
    def _shared(self) -> Floats:
        """Return what all agents see at the end of their observations, float64[E, n]."""

    def _observe(self) -> list[Floats32]:
        """Return each agent's own velocity and position, where all else is, and what all see."""
        world, agents = self.world, slice(self.agents)
        relative = world.relative(agents, slice(None))
        others = relative[:, np.arange(self.agents)[:, np.newaxis], self._others]
        shared = self._shared()[:, np.newaxis]
        parts = [
            world.velocities[:, agents],
            world.positions[:, agents],
            others.reshape(self.copies, self.agents, -1),
            np.broadcast_to(shared, (self.copies, self.agents, shared.shape[2])),
        ]
        return list(np.concatenate(parts, axis=2).astype(np.float32).transpose(1, 0, 2))


def _others(agents: int, moving: int, every: int) -> Integers:
    """Return for each agent the discs it sees: those at rest, then all others that move."""
    rest, movers = np.arange(moving, every), np.arange(moving)
    return np.stack([np.append(rest, np.delete(movers, agent)) for agent in range(agents)])
