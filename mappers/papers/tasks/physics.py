"""The physics of the multi-agent particle environments (MPE), for many copies at once.

Rules and figures are those of MPE2 1.1 (``mpe2/_mpe_utils/core.py``, Farama Foundation), after Lowe
et al., *Multi-Agent Actor-Critic for Mixed Cooperative-Competitive Environments* (2017).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maestro_env.mappers.papers.tasks import Task, require_counts
from maestro_env.mappers.parts.arrays import Booleans, Floats, Floats32, Integers

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
