"""Agents share out landmarks without collisions: ``simple_spread`` of MPE."""

from __future__ import annotations

import numpy as np

from maestro_env.mappers.papers.tasks.discs import DiscTask
from maestro_env.mappers.papers.tasks.physics import Bodies
from maestro_env.mappers.parts.arrays import Floats

# Weights of what all are paid and of what each is charged for its own collisions.
_TOGETHER = _OWN = 0.5
_MESSAGE = 2


class Navigation(DiscTask):
    """Cooperative navigation of N agents to N landmarks, which nothing collides with.

    All agents are charged each landmark's distance to the nearest of them; each is charged 1 for
    every agent it touches; the reward is the mean of the two, as in MPE. An agent observes its
    velocity and position, then, seen from itself, the landmarks and the other agents, then two
    zeros for each other agent: MPE's messages, which are not used.

    Args:
        copies: E.
        agents: N.
    """

    def __init__(self, copies: int = 1, agents: int = 3) -> None:
        self._agents, self._landmarks = slice(agents), slice(agents, None)
        super().__init__(
            {"copies": copies, "agents": agents},
            [
                Bodies(agents, size=0.15, acceleration=5.0),
                Bodies(agents, size=0.05, solid=False),
            ],
        )

    def _rewards(self) -> Floats:
        world, agents = self.world, self._agents
        far = world.distances(agents, self._landmarks).min(axis=1).sum(axis=1)
        # Every agent touches itself.
        collisions = world.touching(agents, agents).sum(axis=2) - 1
        rewards: Floats = -_TOGETHER * far[:, np.newaxis] - _OWN * collisions
        return rewards

    def _shared(self) -> Floats:
        return np.zeros((self.copies, _MESSAGE * (self.agents - 1)))
