"""Mappers whose agents learn from replay: every sample that was paid for is used many times.

Agents act in episodes, of which a sample is a step.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.mappers.agents.archive import Archive
from maestro_env.mappers.agents.grouping import GroupedMapper
from maestro_env.mappers.agents.team import GroupConfig, Heads
from maestro_env.mappers.base import setting
from maestro_env.mappers.papers.replay.layouts import Batch, Fields, SoaReplay
from maestro_env.mappers.parts.arrays import DRAWS, Floats, Integers
from maestro_env.mappers.parts.operators import JointMoves
from maestro_env.mapspace.space import Points, Space

Seen = NDArray[np.float32]

EPISODES = ("improve", "choose")
"""What agents act in: moves of a mapping, or a choice of all parameters."""

# Rewards closer than this are equal.
_LEAST_SPREAD = 1e-6
# Weight of a parameter that stays as it is, relative to all its moves: with 13 parameters, a drawn
# step moves about three.
_STAY = np.e
# A cost of somebody's simulator may be zero.
_LEAST = np.finfo(float).tiny


@dataclass(frozen=True)
class ReplayConfig(GroupConfig):
    """Parameters of agents that learn from replay."""

    episode: str = setting("improve", "what agents act in", allowed=EPISODES)
    length: int = setting(4, "steps of an episode that improves a mapping", least=1)
    discount: float = setting(0.0, "weight of the next step's value", most=1)
    samples: int = setting(16, "episodes at a time, each a sample", least=1, most=10_000)
    candidates: int = setting(8, "drawn actions; the best by value is paid", least=1, most=1000)
    exploration: float = setting(0.0, "chance per parameter of a draw off the policy", most=1)
    updates: float = setting(0.25, "updates for each sample", most=100)
    rows: int = setting(64, "samples of an update", least=1, most=100_000)
    rate: float = setting(0.003, "learning rate of Adam", most=1)
    memory: int = setting(20_000, "last samples that replay holds", least=1, most=10**6)
    worst: float = setting(1.0, "bound of a reward, which is a logarithm", least=0.001, most=1000)
    first: int = setting(64, "samples before the first mapping is improved", most=10**6)
    best: int = setting(16, "best mappings that episodes begin with", least=1, most=10_000)
    draw: str = setting("log", "initial distribution", allowed=DRAWS)


Replayed = TypeVar("Replayed", bound=ReplayConfig)


class Learner(Protocol):
    """Agents that learn from replay; observations and choices have the order of agents."""

    def act(self, observations: Sequence[Seen], /) -> Integers:
        """Return the choices int64[E, D] of agents that see float32[E, o_i] each."""

    def encoded(self, choices: Integers, /) -> list[Seen]:
        """Return choices int64[E, D] as replay has them, float32[E, w_i] of each agent."""

    def values(self, observations: Sequence[Seen], choices: Integers, /) -> Seen:
        """Return what is expected of choices int64[E, D], float32[E]."""

    def update(self, batches: Sequence[Batch], /) -> None:
        """Learn from one batch."""


class ReplayMapper(GroupedMapper[Replayed]):
    """Agents that learn from a replay of all paid samples what actions are worth.

    All agents are paid the same reward. In each episode the agents draw some actions, and the one
    that they value most is paid for, of those that are new and that masks allow.
    """

    @abstractmethod
    def learner(self) -> Callable[..., Learner]:
        """Return what makes the agents.

        It takes the first arguments of ``OffPolicyLearner`` by their names: ``observations``,
        ``heads``, ``rng``, ``logits`` and ``features``.
        """

    def search(self, evaluator: Evaluator, budget: int, rng: np.random.Generator) -> None:
        config, agents = self.config, self.agents(evaluator, rng)
        archive = Archive(evaluator, config.best, rng)
        archive.keep(*self.begin(evaluator, budget))
        episodes = _episodes(config, evaluator.space, agents)
        team = _Team(config, self.learner(), episodes, agents, rng, budget)
        due = 0.0
        while left := budget - archive.count:
            n = min(left, config.samples)
            if not episodes.begin(archive):
                archive.evaluate(archive.draw(n, config.draw))
                continue
            seen, actions = team.draw()
            points = episodes.points(actions)
            rows = archive.choose(points, team.values(seen, actions))
            values = archive.evaluate(points[rows[:n]])
            if n < config.samples:
                return
            rewards = episodes.reward(points[rows], values)
            team.keep([each[rows] for each in seen], actions[rows], rewards)
            due += n * config.updates
            while due >= 1:
                team.update()
                due -= 1


def _episodes(config: ReplayConfig, space: Space, agents: Integers) -> Episodes:
    shape = config.samples, config.candidates
    if config.episode == "choose":
        return Choosing(space, shape, int(agents.max()) + 1, config.draw, config.worst)
    return Improving(space, shape, agents, config.length, config.worst, config.first)


class _Team:
    """A learner whose heads are those of episodes, and the replay of what they did.

    Actions have the order of parameters; the learner has that of agents.
    """

    def __init__(
        self,
        config: ReplayConfig,
        learner: Callable[..., Learner],
        episodes: Episodes,
        agents: Integers,
        rng: np.random.Generator,
        budget: int,
    ) -> None:
        self._config, self._episodes, self._rng = config, episodes, rng
        self._order = np.argsort(agents, kind="stable")
        self._places = np.argsort(self._order)
        own = [np.flatnonzero(agents == agent).tolist() for agent in range(agents.max() + 1)]
        widths, features = [each.shape[1] for each in episodes.seen()], episodes.features
        self._learner = learner(
            observations=widths,
            heads=[[len(episodes.logits[head]) for head in each] for each in own],
            rng=rng,
            logits=[np.concatenate([episodes.logits[head] for head in each]) for each in own],
            features=features and [features[head] for head in self._order.tolist()],
        )
        acted = self._encoded(np.zeros((1, len(agents)), dtype=np.int64))
        fields = Fields(tuple(widths), tuple(each.shape[1] for each in acted))
        capacity = max(min(config.memory, budget), config.samples)
        self._replay, self._rewards = SoaReplay(fields, capacity), np.zeros(capacity)

    def draw(self) -> tuple[list[Seen], Integers]:
        """Return what agents see, float32[E * C, o_i] each, and what they do, int64[E * C, D]."""
        seen = self._episodes.seen()
        actions = self._learner.act(seen)[:, self._places]
        explored = self._rng.random(actions.shape) < self._config.exploration
        first = np.stack(
            [_drawn(logits, len(actions), self._rng) for logits in self._episodes.logits], axis=1
        )
        return seen, np.where(explored, first, actions)

    def values(self, seen: Sequence[Seen], actions: Integers) -> Floats:
        """Return what critics expect of the candidates of each episode, float64[E, C]."""
        found = self._learner.values(seen, actions[:, self._order])
        return found.reshape(self._config.samples, -1).astype(np.float64)

    def keep(self, seen: Sequence[Seen], actions: Integers, rewards: Floats) -> None:
        """Remember a step of each episode: what agents saw and did, and what all were paid."""
        replay, agents = self._replay, len(seen)
        self._rewards[(replay.added + np.arange(len(rewards))) % replay.capacity] = rewards
        following = [each[:: self._config.candidates] for each in self._episodes.seen()]
        paid = np.repeat(rewards[:, np.newaxis], agents, axis=1)
        # Their length is no end of what mappings are worth.
        replay.add(seen, self._encoded(actions), paid, following, np.zeros_like(paid))

    def update(self) -> None:
        """Learn from some steps; rewards are scaled to a deviation of 1."""
        filled = len(self._replay)
        batch = self._replay.gather(self._rng.integers(filled, size=self._config.rows))
        scale = np.float32(self._rewards[:filled].std() + _LEAST_SPREAD)
        self._learner.update([batch._replace(rewards=batch.rewards / scale)])

    def _encoded(self, actions: Integers) -> list[Seen]:
        return self._learner.encoded(actions[:, self._order])


def _drawn(logits: Floats, n: int, rng: np.random.Generator) -> Integers:
    """Draw n choices, int64[n], from the softmax of logits."""
    ends = np.cumsum(np.exp(logits - logits.max()))
    found: Integers = ends.searchsorted(rng.random(n) * ends[-1], side="right")
    return found.clip(0, len(ends) - 1)


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
