"""Operators of evolutionary search, joint moves of agents, and variants of good mappings."""

from __future__ import annotations

from collections.abc import Set

import numpy as np
from numpy.typing import NDArray

from maestro_env.environments.moves import moves_of
from maestro_env.mappers.parts.arrays import Floats, Integers
from maestro_env.mapspace.space import Points, Space

# The largest small step is this share of a size's choices.
_STEP_SHARE = 16


def tournament(
    points: Points, values: Floats, n: int, entrants: int, rng: np.random.Generator
) -> Points:
    """Choose ``n`` parents, each the best of ``entrants`` points drawn with replacement."""
    drawn = rng.integers(0, len(points), size=(n, entrants))
    winners: Points = points[drawn[np.arange(n), np.argmin(values[drawn], axis=1)]]
    return winners


def uniform_crossover(
    mothers: Points, fathers: Points, rate: float, rng: np.random.Generator
) -> Points:
    """Mix each pair parameter by parameter with chance ``rate``; else copy the mother."""
    mixes = rng.random((len(mothers), 1)) < rate
    from_father = mixes & (rng.random(mothers.shape) < 0.5)
    return np.where(from_father, fathers, mothers)


def mutate(
    points: Points,
    fresh: Points,
    space: Space,
    rate: float,
    step_rate: float,
    rng: np.random.Generator,
) -> Points:
    """Change every parameter with chance ``rate``, and at least one of each point.

    The new values are those of ``fresh``, which are independent draws. A changed size takes, with
    chance ``step_rate``, a small step instead.
    """
    changes = rng.random(points.shape) < rate
    forced = rng.integers(0, points.shape[1], size=len(points))
    changes[np.arange(len(points)), forced] = True
    are_sizes = np.array([parameter.is_size for parameter in space.parameters])
    steps = are_sizes & (rng.random(points.shape) < step_rate)
    return np.where(changes, np.where(steps, step(points, space, rng), fresh), points)


def step(points: Points, space: Space, rng: np.random.Generator) -> Points:
    """Move every parameter to a neighbouring choice, up or down by at most a sixteenth of all."""
    widest = np.maximum(1, space.sizes // _STEP_SHARE)
    by = rng.integers(1, widest + 1, size=points.shape) * rng.choice((-1, 1), size=points.shape)
    moved: Points = (points + by).clip(0, space.sizes - 1).astype(np.int32)
    return moved


def unseen(points: Points, known: Set[int], space: Space) -> Points:
    """Drop repeated mappings and those whose identity is known; if none is left, keep all."""
    identities, first = np.unique(space.identities(points), return_index=True)
    new = [identity not in known for identity in identities.tolist()]
    return points[np.sort(first[new])] if any(new) else points


class JointMoves:
    """Moves of ``MaestroImprove-v1`` in N copies; an action has a choice for each parameter.

    The first choice leaves the parameter as it is, the others are its moves.

    Args:
        space: of the mappings.
        copies: N.
        agents: the agent of each parameter, int64[D], from 0 on.

    Attributes:
        counts: moves of each parameter.
        shown: the parameter of each number that ``seen`` returns, int64[F].
        widths: numbers that each agent sees.
    """

    def __init__(self, space: Space, copies: int, agents: Integers) -> None:
        moves = moves_of(space)
        self._space, self._moves = space, moves.native
        self._present = np.zeros((copies, len(space.parameters)), dtype=np.int32)
        names = [name for name, _ in moves.names]
        self.counts = [names.count(parameter.name) for parameter in space.parameters]
        self._firsts = np.cumsum([0, *self.counts[:-1]])
        self.shown = np.array(moves.native.shown)
        # What agents see of the mapping, and after that the objective.
        owners = agents[self.shown]
        self._columns = [
            np.append(np.flatnonzero(owners == agent), len(owners))
            for agent in range(agents.max() + 1)
        ]
        self.widths = tuple(map(len, self._columns))

    @property
    def present(self) -> Points:
        """The vectors of the present mappings, int32[N, D]."""
        return self._present.copy()

    def accept(self, points: Points, where: NDArray[np.bool_] | None = None) -> None:
        """Make int32[N, D] vectors the present ones, in all copies or where bool[N] says so."""
        chosen = slice(None) if where is None else where
        self._present[chosen] = points[chosen]

    def together(self, actions: Integers) -> Points:
        """Return the vectors, int32[N, D], after actions int64[N, D]."""
        moves = self._firsts + np.maximum(actions - 1, 0)
        return self._space.clipped(self._moves.after(self._present, moves, actions > 0))

    def seen(self) -> NDArray[np.float32]:
        """Return the present mappings as numbers, float32[N, F]."""
        return self._moves.show(self._present)

    def seen_by_agents(self, objectives: Floats) -> list[NDArray[np.float32]]:
        """Return what each agent sees, float32[N, o_i]: its parameters and the objective.

        Args:
            objectives: of the present mappings as agents see it, float64[N].
        """
        every = np.column_stack([self.seen(), objectives]).astype(np.float32)
        return [every[:, columns] for columns in self._columns]
