"""Mappers whose agents learn from replay: every sample that was paid for is used many times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np

from maestro_env.base.errors import MissingExtraError
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.rewards import REWARDS
from maestro_env.mapspace.space import Points
from mappers.agents.config import GroupConfig
from mappers.agents.grouped import GroupedMapper, RelativeRewards
from mappers.agents.heads import Heads
from mappers.learners.replay.layouts import Batch
from mappers.parts.arrays import Floats, Integers
from mappers.parts.draws import DRAWS
from mappers.settings import setting

try:
    from mappers.learners.off_policy.learner import OffPolicyLearner, Settings
except ModuleNotFoundError as error:
    raise MissingExtraError("mappers.agents.replaying", str(error.name), "rl") from error


@dataclass(frozen=True)
class ReplayConfig(GroupConfig):
    """Parameters of agents that learn from replay."""

    samples: int = setting(16, "samples between two rounds of updates", least=1, most=100_000)
    updates: float = setting(0.05, "updates for each sample", most=100)
    rows: int = setting(64, "samples of an update", least=1, most=100_000)
    rate: float = setting(0.003, "learning rate of Adam", most=1)
    memory: int = setting(20_000, "last samples that replay holds", least=1, most=10**6)
    reward: str = setting("log", "reward of a mapping", allowed=REWARDS)
    draw: str = setting("log", "initial distribution", allowed=DRAWS)


Replayed = TypeVar("Replayed", bound=ReplayConfig)


class ReplayMapper(GroupedMapper[Replayed]):
    """Agents with actors and central critics; a mapping is an episode of one step.

    So there is no next step to value (discount 0) and nothing to see: all agents observe a 1. All
    are paid the same reward. The actors begin with the initial distribution.
    """

    LEARNER: ClassVar[type[OffPolicyLearner]]

    def settings(self) -> Settings:
        """Return how the agents learn."""
        return Settings(rate=self.config.rate, discount=0.0)

    def search(self, evaluator: Evaluator, budget: int, rng: np.random.Generator) -> None:
        config, agents = self.config, self.agents(evaluator, rng)
        heads = Heads(evaluator.space, config.draw)
        points, values = self.begin(evaluator, budget)
        team = _Team(heads, agents, type(self).LEARNER, self.settings(), rng)
        replay = _Replay(config, min(config.memory, budget), len(agents))
        spent, due = 0, 0.0
        while True:
            replay.add(team.actions(points), values)
            spent, due = spent + len(points), due + len(points) * config.updates
            if spent == budget:
                return
            while due >= 1 and replay.filled:
                team.update(*replay.draw(rng))
                due -= 1
            points = team.draw(min(config.samples, budget - spent))
            values = evaluator.evaluate(points).values


class _Team:
    """A learner whose heads are a map space's, ordered by agent."""

    def __init__(
        self,
        heads: Heads,
        agents: Integers,
        learner: type[OffPolicyLearner],
        settings: Settings,
        rng: np.random.Generator,
    ) -> None:
        self._heads, self._order = heads, np.argsort(agents, kind="stable")
        self._count = int(agents.max()) + 1
        own = [np.flatnonzero(agents == agent) for agent in range(self._count)]
        logits = np.split(heads.bias, heads.starts[1:])
        self._learner = learner(
            [1] * self._count,
            [heads.counts[each].tolist() for each in own],
            rng,
            settings,
            [np.concatenate([logits[head] for head in each]) for each in own],
        )

    def draw(self, n: int) -> Points:
        """Draw points, int32[n, D]."""
        drawn = self._learner.act([np.ones((n, 1), dtype=np.float32)] * self._count)
        return self._heads.points(np.take(drawn, np.argsort(self._order), axis=1))

    def actions(self, points: Points) -> Integers:
        """Return the choices of points, int64[n, D], agent by agent."""
        return self._heads.actions(points)[:, self._order]

    def update(self, choices: Integers, rewards: Floats) -> None:
        """Learn from samples: choices int64[B, D], agent by agent, and rewards float64[B]."""
        shape = len(rewards), self._count
        seen = [np.ones((len(rewards), 1), dtype=np.float32)] * self._count
        paid = np.broadcast_to(rewards[:, np.newaxis], shape).astype(np.float32)
        ended = np.ones(shape, dtype=np.float32)
        self._learner.update([Batch(seen, self._learner.encoded(choices), paid, seen, ended)])


class _Replay:
    """The last samples: choices and rewards only, as all else is the same in every row."""

    def __init__(self, config: ReplayConfig, capacity: int, heads: int) -> None:
        self._rows, self._rewards = config.rows, RelativeRewards(config.reward)
        self._choices = np.zeros((capacity, heads), dtype=np.int64)
        self._paid = np.zeros(capacity)
        self._added = 0

    @property
    def filled(self) -> int:
        """Samples that it holds."""
        return min(self._added, len(self._paid))

    def add(self, choices: Integers, values: Floats) -> None:
        """Add samples, int64[N, D] and float64[N]; they overwrite the oldest."""
        rows = (self._added + np.arange(len(values))) % len(self._paid)
        self._choices[rows], self._paid[rows] = choices, self._rewards(values)
        self._added += len(values)

    def draw(self, rng: np.random.Generator) -> tuple[Integers, Floats]:
        """Draw choices and rewards of some samples uniformly."""
        rows = rng.integers(self.filled, size=self._rows)
        return self._choices[rows], self._paid[rows]
