"""Decentralised multi-agent reinforcement learning, the paper's mapper (section IV)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clustering import AGENTS, LINKAGES, MEASURES, AgentGroups
from maestro_env.episode import REWARDS, first_observation, observation
from maestro_env.evaluator import Evaluator
from maestro_env.map_space import MapSpace
from mappers.agents.elites import Elites
from mappers.agents.exploration import explore
from mappers.agents.grouping import GROUPINGS, group_parameters, read_groups, require_agents
from mappers.agents.heads import STARTS, Floats, Heads, Integers
from mappers.agents.refinement import refine
from mappers.agents.stateless import StatelessAgents
from mappers.agents.team import Agents, Learning
from mappers.base import Mapper, SearchResult
from mappers.settings import setting

_POLICIES = ("stateless", "mlp")
# A team has improved if its best value fell by more than this share.
_GAIN = 1e-3


@dataclass(frozen=True)
class MarlConfig:
    """Parameters of the agents and of their grouping."""

    agents: int = setting(0, "number of agents; 0 is one per parameter", most=1000)
    grouping: str = setting("clustered", "which parameters share an agent", allowed=GROUPINGS)
    groups: str = setting("", "JSON file of groups to use instead of learning them")
    warm_up: int = setting(20_000, "random samples that groups are learnt from", least=1)
    measure: str = setting("pearson", "measure of dependence between parameters", allowed=MEASURES)
    linkage: str = setting("ward_rows", "linkage of the clustering", allowed=LINKAGES)
    policy: str = setting("stateless", "policy of every agent", allowed=_POLICIES)
    batch: int = setting(16, "samples between two updates", least=1, most=100_000)
    epochs: int = setting(4, "gradient steps of an update", least=1, most=1000)
    rate: float = setting(0.1, "learning rate of Adam", most=1)
    clip: float = setting(0.4, "bound of PPO's ratio around 1", most=10)
    entropy: float = setting(0.0, "weight of the entropy bonus", most=100)
    exploration: float = setting(0.1, "chance per parameter of an action off the policy", most=1)
    local: float = setting(0.7, "share of such actions of sizes that are small steps", most=1)
    imitation: float = setting(1.0, "weight of the pull towards the best samples", most=100)
    memory: int = setting(16, "best samples that agents remember", least=1, most=10_000)
    refinement: float = setting(0.35, "share of samples that are variants of the best", most=0.95)
    pairs: float = setting(0.6, "share of variants in which two sizes move", most=1)
    reward: str = setting("inverse", "reward of a mapping", allowed=REWARDS)
    draw: str = setting("log", "initial distribution", allowed=STARTS)
    patience: int = setting(500, "samples without a gain before a new team starts; 0 is never")
    keep: float = setting(
        0.5, "chance that a new agent favours its part of the best mapping", most=1
    )


class MarlMapper(Mapper[MarlConfig]):
    """Agents that each set their own parameters and learn independently from one shared reward.

    In every batch, each agent draws values of its parameters, all agents observe latency, power,
    energy, area and reward of the joint mappings, and each updates its policy by PPO. Agents share
    nothing else: no weights, no messages, no central critic.

    Learning groups costs ``warm_up`` samples beside the budget, counted separately; groups from a
    file cost nothing. If ``agents`` is changed, a file of groups must have that many.
    """

    DEFAULT: ClassVar[MarlConfig] = MarlConfig()

    def require_fit(self, space: MapSpace) -> None:
        if self.config.groups:
            self._read_groups(space)
        else:
            require_agents(self.config.agents, space, least=0)

    def search(self, evaluator: Evaluator, budget: int, rng: np.random.Generator) -> SearchResult:
        config, space = self.config, evaluator.space
        groups = self._read_groups(space) if config.groups else self._group(evaluator, rng)
        names = [parameter.name for parameter in space.parameters]
        search = _Search(config, Heads(space, config.draw), groups.indices(names), evaluator, rng)
        while search.spent < budget:
            search.step(budget - search.spent)
        return SearchResult(evaluator.best, budget)

    def _read_groups(self, space: MapSpace) -> AgentGroups:
        agents = self.config.agents
        # The default number is not a request.
        wanted = None if agents == self.DEFAULT.agents else agents
        return read_groups(self.config.groups, space, wanted)

    def _group(self, evaluator: Evaluator, rng: np.random.Generator) -> AgentGroups:
        config = self.config
        return group_parameters(
            evaluator,
            rng,
            agents=config.agents,
            grouping=config.grouping,
            warm_up=config.warm_up,
            measure=config.measure,
            linkage=config.linkage,
        )


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

    Uniform start, no exploration beside the policy, no imitation, no refinement, no new starts.
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


class _Search:
    """The state of one search.

    A team of agents that has not improved for ``patience`` samples is replaced. Each agent of the
    next team favours, with chance ``keep``, its part of the best mapping so far, or else starts
    from the initial distribution: a kick, as in iterated local search (Lourenco, Martin and
    Stuetzle, 2003).
    """

    def __init__(
        self,
        config: MarlConfig,
        heads: Heads,
        agents: Integers,
        evaluator: Evaluator,
        rng: np.random.Generator,
    ) -> None:
        self.spent = 0
        self._config = config
        self._heads = heads
        self._agents = agents
        self._evaluator = evaluator
        self._rng = rng
        self._reference: float | None = None
        self._champion = Elites(1, len(agents))
        problem = evaluator.problem
        self._seen = first_observation(problem.layer, problem.hardware)[np.newaxis]
        self._start_team()

    def step(self, most: int) -> None:
        """Evaluate and learn from one batch of at most ``most`` samples."""
        self._replace_settled_team()
        n = min(self._config.batch, most)
        refined = int(n * self._config.refinement) if len(self._elites.actions) else 0
        drawn = self._draw(n - refined)
        actions = np.concatenate([drawn, self._refine(drawn, refined)])
        batch = self._evaluator.evaluate(self._heads.points(actions))
        self.spent += n
        for memory in (self._elites, self._champion):
            memory.add(actions, batch.values)
        self._note(batch.values.min())
        self._seen = observation(batch.metrics[: len(drawn)])
        rewards = self._rewards(batch.values)[: len(drawn)]
        self._team.learn(drawn, rewards, self._elites.actions)

    def _replace_settled_team(self) -> None:
        patience = self._config.patience
        if patience and self.spent - self._last_gain >= patience:
            self._start_team()

    def _draw(self, n: int) -> Integers:
        config, rng = self._config, self._rng
        seen = self._seen
        if len(seen) != n:
            # More samples than observations: repeat these.
            seen = np.resize(seen, (n, seen.shape[1]))
        actions = self._team.draw(rng.random((n, len(self._agents))), seen)
        return explore(actions, self._heads, config.exploration, config.local, rng)

    def _refine(self, drawn: Integers, n: int) -> Integers:
        rows = self._rng.integers(len(drawn), size=n)
        best, pairs = self._elites.actions, self._config.pairs
        return refine(best, drawn[rows], self._heads, pairs, self._rng) if n else drawn[:0]

    def _start_team(self) -> None:
        config = self._config
        learning = Learning(
            config.epochs, config.rate, config.clip, config.entropy, config.imitation
        )
        bias = self._first_bias()
        self._team = _make_team(config.policy, self._heads, bias, self._agents, learning, self._rng)
        self._elites = Elites(config.memory, len(self._agents))
        self._best = math.inf
        self._last_gain = self.spent

    def _first_bias(self) -> Floats:
        if not len(self._champion.actions):
            return self._heads.bias
        kept = self._rng.random(self._agents.max() + 1) < self._config.keep
        return self._heads.favouring(self._champion.actions[0], kept[self._agents])

    def _rewards(self, values: Floats) -> Floats:
        """Return rewards relative to the median of the first batch with a valid mapping."""
        valid = np.isfinite(values)
        if self._reference is None:
            if not valid.any():
                return np.zeros(len(values))
            self._reference = float(np.median(values[valid]))
        return REWARDS[self._config.reward](self._reference / values)

    def _note(self, value: float) -> None:
        """Record the best value of a batch if the team has improved."""
        if value < self._best * (1 - _GAIN):
            self._best, self._last_gain = value, self.spent


def _make_team(
    policy: str,
    heads: Heads,
    bias: Floats,
    agents: Integers,
    learning: Learning,
    rng: np.random.Generator,
) -> Agents:
    if policy == "stateless":
        return StatelessAgents(heads, agents, learning, bias)
    # Imported here: agents without networks need no torch.
    from mappers.agents.networks import NetworkAgents

    return NetworkAgents(heads, agents, learning, rng, bias=bias)
