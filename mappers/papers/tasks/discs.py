"""What the tasks of MPE have in common: agents that are discs and move in five directions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from maestro_env.mappers.papers.tasks.physics import DIRECTIONS, Bodies, World
from maestro_env.mappers.papers.tasks.task import Task, require_counts
from maestro_env.mappers.parts.arrays import Floats, Floats32, Integers


class DiscTask(Task):
    """Each agent has one head: the index of one of ``DIRECTIONS``. No copy is ever finished.

    Args:
        counts: the numbers of ``copies`` (E) and of all discs, by name; 1 or more.
        kinds: the discs, the agents first.

    Attributes:
        world: positions and velocities.

    Raises:
        TaskError: a number outside 1 to 10,000.
    """

    def __init__(self, counts: dict[str, int], kinds: Sequence[Bodies]) -> None:
        require_counts(**counts)
        super().__init__(counts["copies"], ((len(DIRECTIONS),),) * kinds[0].count)
        self.world = world = World(self.copies, kinds)
        self._others = _others(self.agents, world.velocities.shape[1], world.positions.shape[1])
        self.widths = tuple(seen.shape[1] for seen in self._observe())

    def _begin(self, rng: np.random.Generator) -> None:
        self.world.reset(rng)

    def _act(self, actions: Integers) -> Floats:
        self.world.step(self._all_actions(actions))
        return self._rewards()

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
