"""Decentralised multi-agent reinforcement learning, the paper's mapper (section IV)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib import import_module
from typing import ClassVar

import numpy as np

from maestro_env.base.native_learning import redrawn
from maestro_env.clustering import AGENTS
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.observations_and_rewards import first_observation
from maestro_env.mappers.agents.archive import Elites
from maestro_env.mappers.agents.grouping import GroupedMapper
from maestro_env.mappers.agents.stateless import FusedAgents, StatelessAgents
from maestro_env.mappers.agents.team import (
    Agents,
    Heads,
    MarlConfig,
    RelativeRewards,
    explore,
    refine,
)
from maestro_env.mappers.parts.arrays import Floats, Integers
from maestro_env.mapspace.space import Points

# A team has improved if its best value fell by more than this share.
_GAIN = 1e-3


class MarlMapper(GroupedMapper[MarlConfig]):
    """Agents that each set their own parameters and learn independently from one shared reward.

    In every batch, each agent draws values of its parameters, all agents observe latency, power,
    energy, area and reward of the joint mappings, and each updates its policy by PPO. Agents share
    nothing else: no weights, no messages, no central critic.

    """

    DEFAULT: ClassVar[MarlConfig] = MarlConfig()

    def __init__(self, config: MarlConfig | None = None) -> None:
        super().__init__(config)
        if self.config.policy == "mlp" and self.config.backend == "torch":
            # Agents without networks need no torch; those with are refused at once where it lacks.
            import_module("maestro_env.mappers.agents.networks")

    def search(self, evaluator: Evaluator, budget: int, rng: np.random.Generator) -> None:
        config, space = self.config, evaluator.space
        agents = self.agents(evaluator, rng)
        heads, start = Heads(space, config.draw), self.begin(evaluator, budget)
        search = _MarlSearch(config, heads, agents, evaluator, rng, start)
        while search.spent < budget:
            search.step(budget - search.spent)


class ClusteredMarlMapper(MarlMapper):
    """Six agents; dependent parameters share an agent (Algorithm 1)."""

    DEFAULT: ClassVar[MarlConfig] = MarlConfig(agents=AGENTS)


class NetworkMarlMapper(MarlMapper):
    """An agent per parameter with a network that observes the last mapping, as in the paper.

    Networks need a lower learning rate than single logits.
    """

    DEFAULT: ClassVar[MarlConfig] = MarlConfig(policy="mlp", batch=32, rate=0.003)


class PaperMarlMapper(MarlMapper):
    """The paper's agents, one per parameter, without what this project added to them.

    Uniform start, no exploration outside the policy, no imitation, no refinement, no restarts.
    """

    DEFAULT: ClassVar[MarlConfig] = MarlConfig(
        policy="mlp",
        batch=64,
        rate=0.003,
        clip=0.2,
        entropy=0.01,
        exploration=0,
        imitation=0,
        refinement=0,
        draw="uniform",
        patience=0,
    )


@dataclass(eq=False)
class _MarlSearch:
    """The state of one search.

    A team of agents that has not improved for ``patience`` samples is replaced. Each agent of the
    next team favours, with chance ``keep``, its part of the best mapping so far, or else starts
    from the initial distribution: a kick, as in iterated local search (Lourenco, Martin and
    Stuetzle, 2003).
    """

    config: MarlConfig
    heads: Heads
    agents: Integers
    evaluator: Evaluator
    rng: np.random.Generator
    start: tuple[Points, Floats]

    def __post_init__(self) -> None:
        points, values = self.start
        actions = self.heads.actions(points)
        self.spent = len(points)
        self._seen = first_observation(self.evaluator.problem.lower_bounds)[np.newaxis]
        self._rewards = RelativeRewards(self.config.reward)
        self._champion = Elites(1, len(self.agents))
        self._elites = Elites(1, len(self.agents))
        self._elites.add(actions, values)
        self._start_team()
        self._elites.add(actions, values)
        self._best = values.min(initial=math.inf)

    def _start_team(self) -> None:
        config, heads, agents = self.config, self.heads, self.agents
        self._champion.add(self._elites.actions, self._elites.values)
        bias = self._first_bias()
        self._team: Agents
        if config.policy == "stateless":
            self._team = StatelessAgents(heads, agents, config, bias)
        elif config.backend == "fused":
            self._team = FusedAgents(heads, agents, config, bias, self.rng)
        else:
            from maestro_env.mappers.agents.networks import NetworkAgents

            self._team = NetworkAgents(heads, agents, config, bias, self.rng)
        self._elites = Elites(config.memory, len(agents))
        self._best = math.inf
        self._last_gain = self.spent

    def _first_bias(self) -> Floats:
        if not len(self._champion.actions):
            return self.heads.bias
        kept = self.rng.random(self.agents.max() + 1) < self.config.keep
        return self.heads.favouring(self._champion.actions[0], kept[self.agents])

    def step(self, most: int) -> None:
        """Evaluate and learn from one batch of at most ``most`` samples."""
        config = self.config
        if config.patience and self.spent - self._last_gain >= config.patience:
            self._start_team()
        n = min(config.batch, most)
        refined = int(n * config.refinement) if len(self._elites.actions) else 0
        drawn = self._draw(n - refined)
        actions = np.concatenate([drawn, self._refine(drawn, refined)])
        values = self._evaluate(self.heads.points(actions), len(drawn))
        self.spent += n
        self._elites.add(actions, values)
        least = float(values.min())
        if least < self._best * (1 - _GAIN):
            self._best, self._last_gain = least, self.spent
        rewards = self._rewards(values)[: len(drawn)]
        self._team.learn(drawn, rewards, self._elites.actions)

    def _draw(self, n: int) -> Integers:
        config, rng = self.config, self.rng
        seen = self._seen
        if config.policy != "stateless" and len(seen) != n:
            # More samples than observations: repeat these.
            seen = np.resize(seen, (n, seen.shape[1]))
        actions = self._team.draw(rng.random((n, len(self.agents))), seen)
        return explore(actions, self.heads, config.exploration, config.local, rng)

    def _refine(self, drawn: Integers, n: int) -> Integers:
        if not n:
            return drawn[:0]
        best, some = self._elites.actions, redrawn(drawn, n, self.rng.bit_generator.capsule)
        return refine(best, some, self.heads, self.config.pairs, self.rng)

    def _evaluate(self, points: Points, drawn: int) -> Floats:
        if self.config.policy == "stateless":
            return self.evaluator.evaluate(points).values
        # Networks look at what became of the drawn ones.
        batch, seen = self.evaluator.observe(points)
        self._seen = seen[:drawn]
        return batch.values
