"""The physics of the multi-agent particle environments (MPE), for many copies at once.

Rules and figures are those of MPE2 1.1 (``mpe2/_mpe_utils/core.py``, Farama Foundation), after Lowe
et al., *Multi-Agent Actor-Critic for Mixed Cooperative-Competitive Environments* (2017).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maestro_env.mappers.parts.arrays import Booleans, Floats, Integers

DIRECTIONS: Floats = np.array([[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1]], dtype=np.float64)
"""What an action does: nothing, or push left, right, down or up."""

_TIME_STEP = 0.1
_DAMPING = 0.25
_CONTACT_FORCE = 100.0
_CONTACT_MARGIN = 1e-3


@dataclass(frozen=True)
class Bodies:
    """Some discs of one kind.

    Args:
        count: how many.
        size: radius.
        acceleration: force of an action; 0 for discs that stay where they are.
        top_speed: most speed.
        solid: whether discs push others away.
        spread: they start uniformly in a square from -spread to +spread.
    """

    count: int
    size: float
    acceleration: float = 0.0
    top_speed: float = np.inf
    solid: bool = True
    spread: float = 1.0


class World:
    """E copies of a world of M discs of mass 1, those that move first.

    Args:
        copies: E.
        kinds: the discs, in the order of the arrays.

    Attributes:
        positions: float64[E, M, 2].
        velocities: float64[E, A, 2], of the A discs that move.
    """

    def __init__(self, copies: int, kinds: Sequence[Bodies]) -> None:
        def each(name: str) -> Floats:
            return np.repeat([getattr(kind, name) for kind in kinds], [k.count for k in kinds])

        self._sizes, self._spread = each("size"), each("spread")
        accelerations = each("acceleration")
        self._moving = moving = int((accelerations > 0).sum())
        self._accelerations, self._top_speeds = accelerations[:moving], each("top_speed")[:moving]
        solid = each("solid").astype(bool)
        # Which discs push which moving ones: none itself.
        self._pushes = solid[:moving, np.newaxis] & solid & ~np.eye(moving, len(solid), dtype=bool)
        self.positions = np.zeros((copies, len(solid), 2))
        self.velocities = np.zeros((copies, moving, 2))

    def reset(self, rng: np.random.Generator) -> None:
        """Draw all positions, copy by copy; everything stands still."""
        uniform = rng.uniform(-1, 1, self.positions.shape)
        self.positions = uniform * self._spread[:, np.newaxis]
        self.velocities = np.zeros_like(self.velocities)

    def step(self, actions: Integers) -> None:
        """Let a time step pass, in which moving discs take actions int64[E, A]."""
        forces = DIRECTIONS[actions] * self._accelerations[:, np.newaxis] + self._contact_forces()
        self.positions[:, : self._moving] += self.velocities * _TIME_STEP
        velocities = self.velocities * (1 - _DAMPING) + forces * _TIME_STEP
        speeds = np.hypot(velocities[..., 0], velocities[..., 1])
        with np.errstate(divide="ignore"):
            slowed = np.minimum(self._top_speeds / speeds, 1)
        self.velocities = velocities * slowed[..., np.newaxis]

    def distances(self, some: slice, others: slice) -> Floats:
        """Return the distances of some discs to others, float64[E, some, others]."""
        away = self.relative(some, others)
        return np.hypot(away[..., 0], away[..., 1])

    def touching(self, some: slice, others: slice) -> Booleans:
        """Return which discs overlap which others, bool[E, some, others]."""
        reach = self._sizes[some, np.newaxis] + self._sizes[others]
        overlap: Booleans = self.distances(some, others) < reach
        return overlap

    def relative(self, some: slice, others: slice) -> Floats:
        """Return where others are, seen from some, float64[E, some, others, 2]."""
        positions = self.positions
        seen: Floats = positions[:, np.newaxis, others] - positions[:, some, np.newaxis]
        return seen

    def _contact_forces(self) -> Floats:
        """Return what all discs do to those that move, float64[E, A, 2].

        Discs push each other apart by a force that grows smoothly with the depth of their overlap.
        """
        moving, every = slice(self._moving), slice(None)
        distances = self.distances(moving, every)
        reach = self._sizes[moving, np.newaxis] + self._sizes
        # Beyond 40 margins the force is below the rounding of any other.
        copy, pushed, by = np.nonzero((distances < reach + 40 * _CONTACT_MARGIN) & self._pushes)
        distance, reach = distances[copy, pushed, by], reach[pushed, by]
        depth = np.logaddexp(0, (reach - distance) / _CONTACT_MARGIN) * _CONTACT_MARGIN
        away = self.positions[copy, pushed] - self.positions[copy, by]
        # Two discs in one place push in no direction.
        push = away * (_CONTACT_FORCE * depth / np.maximum(distance, 1e-12))[:, np.newaxis]
        forces = np.zeros_like(self.velocities)
        np.add.at(forces, (copy, pushed), push)
        return forces
