"""Predators chase prey that is faster than they are: ``simple_tag`` of MPE with scripted prey."""

from __future__ import annotations

import numpy as np

from maestro_env.mappers.papers.tasks.discs import DiscTask
from maestro_env.mappers.papers.tasks.physics import DIRECTIONS, Bodies
from maestro_env.mappers.parts.arrays import Floats, Integers

_CATCH = 10.0
# How far ahead the prey looks: what it covers in two to three steps.
_SIGHT = 0.3


class PredatorPrey(DiscTask):
    """Predators that are paid together for each contact of a predator with prey.

    Discs, speeds, rewards and observations are those of ``simple_tag``; obstacles stand in the way.
    In MPE the prey learns too. Here it takes of its five actions the one that leads farthest from
    the nearest predator, less MPE's penalty of prey beyond the boundary at 0.9; of equal ones, the
    first. An agent observes its velocity and position, then, seen from itself, the obstacles, the
    other predators and the prey, then the prey's velocities.

    Args:
        copies: E.
        predators: N, the agents.
        prey: how many.
        obstacles: how many.
    """

    def __init__(
        self, copies: int = 1, predators: int = 3, prey: int = 1, obstacles: int = 2
    ) -> None:
        self._prey = slice(predators, predators + prey)
        super().__init__(
            {"copies": copies, "predators": predators, "prey": prey, "obstacles": obstacles},
            [
                Bodies(predators, size=0.075, acceleration=3.0, top_speed=1.0),
                Bodies(prey, size=0.05, acceleration=4.0, top_speed=1.3),
                Bodies(obstacles, size=0.2, spread=0.9),
            ],
        )

    def prey_actions(self) -> Integers:
        """Return what the prey will do next, int64[E, prey]."""
        positions = self.world.positions
        reached = positions[:, self._prey, np.newaxis] + _SIGHT * DIRECTIONS
        predators = positions[:, np.newaxis, np.newaxis, : self.agents]
        away = reached[:, :, :, np.newaxis] - predators
        nearest = np.hypot(away[..., 0], away[..., 1]).min(axis=3)
        chosen: Integers = (nearest - boundary_penalty(reached)).argmax(axis=2)
        return chosen

    def _all_actions(self, actions: Integers) -> Integers:
        return np.concatenate([actions, self.prey_actions()], axis=1)

    def _rewards(self) -> Floats:
        contacts = self.world.touching(slice(self.agents), self._prey).sum(axis=(1, 2))
        return np.repeat(_CATCH * contacts[:, np.newaxis], self.agents, axis=1)

    def _shared(self) -> Floats:
        return self.world.velocities[:, self._prey].reshape(self.copies, -1)


def boundary_penalty(positions: Floats) -> Floats:
    """Return MPE's penalty of positions float64[..., 2]: 0 up to 0.9, then steep, at most 20."""
    beyond = np.abs(positions)
    # Above 1 the penalty is min(exp(2x - 2), 10).
    outside = np.exp(np.minimum(2 * beyond - 2, np.log(10)))
    each = np.where(beyond < 1, np.maximum(beyond - 0.9, 0) * 10, outside)
    penalty: Floats = each.sum(axis=-1)
    return penalty
