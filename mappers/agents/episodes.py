"""What agents that learn from replay act in, and moves off their policies."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from maestro_env.mappers.agents.archive import Archive
from maestro_env.mappers.agents.team import Heads
from maestro_env.mappers.parts.arrays import Floats, Integers
from maestro_env.mappers.parts.operators import JointMoves
from maestro_env.mapspace.space import Points, Space

Seen = NDArray[np.float32]

# Weight of a parameter that stays as it is, relative to all its moves: with 13 parameters, a drawn
# step moves about three.
_STAY = np.e
# A cost of somebody's simulator may be zero.
_LEAST = np.finfo(float).tiny


class Episodes(ABC):
    """E episodes next to each other, each with C rows for as many candidates of its next step.

    A sample is a step of an episode.

    Attributes:
        logits: of the choices of an action before learning, D arrays, one of each parameter.
        features: of these choices, float64[choices, f], D arrays; None for one-hots.
    """

    logits: Sequence[Floats]
    features: Sequence[Floats] | None = None

    @abstractmethod
    def begin(self, archive: Archive) -> bool:
        """Begin those again that have ended; return False if it is too early for that."""

    @abstractmethod
    def seen(self) -> list[Seen]:
        """Return what each agent sees, float32[E * C, o_i]."""

    @abstractmethod
    def points(self, actions: Integers) -> Points:
        """Return the vectors, int32[E * C, D], after actions, int64[E * C, D]."""

    @abstractmethod
    def reward(self, points: Points, values: Floats) -> Floats:
        """Go on to vectors int32[E, D] with their values; return the rewards, float64[E]."""


class Choosing(Episodes):
    """Episodes of one step, which sets all parameters; there is nothing to see but a 1.

    The reward is minus the logarithm of the objective, relative to the median of the first valid
    ones; that of an invalid mapping is -``worst``, and no other is less.
    """

    def __init__(
        self, space: Space, shape: tuple[int, int], agents: int, draw: str, worst: float
    ) -> None:
        self._heads, self._worst = Heads(space, draw), worst
        self._seen = [np.ones((math.prod(shape), 1), dtype=np.float32)] * agents
        self._reference: float | None = None
        self.logits = np.split(self._heads.bias, self._heads.starts[1:])
        self.features = self._heads.numbers

    def begin(self, archive: Archive) -> bool:
        return True

    def seen(self) -> list[Seen]:
        return self._seen

    def points(self, actions: Integers) -> Points:
        return self._heads.points(actions)

    def reward(self, points: Points, values: Floats) -> Floats:
        logs = _log(values)
        if self._reference is None and np.isfinite(logs).any():
            self._reference = float(np.median(logs[np.isfinite(logs)]))
        rewards: Floats = np.maximum((self._reference or 0.0) - logs, -self._worst)
        return rewards


class Improving(Episodes):
    """Episodes of the environment ``MaestroImprove-v1`` in which all parameters may move at once.

    They begin at one of the best mappings so far, after ``first`` samples. An agent sees its
    parameters of the present mapping and the logarithm of its objective. The reward is the
    logarithm of the objective before over that after, between -``worst`` and ``worst``; 0 where the
    mapping becomes invalid, and so stays what it was.
    """

    def __init__(
        self,
        space: Space,
        shape: tuple[int, int],
        agents: Integers,
        length: int,
        worst: float,
        first: int,
    ) -> None:
        self._space, self._length, self._worst, self._first = space, length, worst, first
        episodes, self._each = shape
        self._moves = JointMoves(space, math.prod(shape), agents)
        self.logits = [np.log([_STAY * count, *[1] * count]) for count in self._moves.counts]
        self._left = np.zeros(episodes, dtype=np.int64)
        self._logs = np.zeros(episodes)
        self._reference: float | None = None

    def begin(self, archive: Archive) -> bool:
        best = archive.best
        if archive.count < self._first or not len(best.values):
            return False
        ended = self._left == 0
        ranks = archive.rng.integers(len(best.values), size=(2, np.count_nonzero(ended))).min(
            axis=0
        )
        begun = self._space.clipped(best.actions[ranks].astype(np.int32))
        points = self._moves.present
        points[np.repeat(ended, self._each)] = np.repeat(begun, self._each, axis=0)
        self._moves.accept(points)
        self._logs[ended] = _log(best.values[ranks])
        self._left[ended] = self._length
        if self._reference is None:
            self._reference = float(self._logs.max())
        return True

    def seen(self) -> list[Seen]:
        logs = np.repeat(self._logs - (self._reference or 0.0), self._each)
        return self._moves.seen_by_agents(logs)

    def points(self, actions: Integers) -> Points:
        return self._moves.together(actions)

    def reward(self, points: Points, values: Floats) -> Floats:
        valid = np.isfinite(values)
        after = np.where(valid, _log(np.where(valid, values, 1)), self._logs)
        rewards: Floats = np.clip(self._logs - after, -self._worst, self._worst)
        self._moves.accept(*(np.repeat(each, self._each, axis=0) for each in (points, valid)))
        self._logs, self._left = after, self._left - 1
        return rewards


def _log(values: Floats) -> Floats:
    logarithms: Floats = np.log(np.maximum(values, _LEAST))
    return logarithms


def explore(
    actions: Integers, heads: Heads, chance: float, local: float, rng: np.random.Generator
) -> Integers:
    """Replace each of int64[N, D] actions with a chance of its own, so that all stay reachable.

    With chance ``local`` a replaced size moves by a step; all other replacements are uniform.
    """
    bits = rng.bit_generator.capsule
    explored: Integers = heads.native.explore(actions, chance, local, bits)
    return explored


def refine(
    best: Integers, drawn: Integers, heads: Heads, pairs: float, rng: np.random.Generator
) -> Integers:
    """Return a variant of one of the best samples for each drawn sample, int64[N, D].

    A variant copies a remembered sample but for one or two parameters. If two change, both are
    sizes and change by the same factor, in the same or in opposite directions: where a buffer is
    full, one tile can grow only if another shrinks. If one changes, it takes the drawn choice or,
    a size, perhaps a step. The agents share these random numbers from the start (which sample,
    which parameters, how far), so they exchange nothing.

    Args:
        best: int64[E, D], E of at least 1, the best first.
        drawn: int64[N, D], from the policies.
        heads: of the actions.
        pairs: chance that two parameters change.
        rng: the shared random numbers.

    Raises:
        ValueError: fewer than two parameters are sizes.
    """
    variants: Integers = heads.native.refine(best, drawn, pairs, rng.bit_generator.capsule)
    return variants
