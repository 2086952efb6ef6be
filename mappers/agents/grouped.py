"""What mappers whose agents share out the parameters have in common."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from maestro_env.clustering import AgentGroups
from maestro_env.evaluation.any_problem import AnyProblem
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.objectives import Objective
from maestro_env.evaluation.rewards import REWARDS
from maestro_env.mappers.agents.config import GroupConfig
from maestro_env.mappers.agents.grouping import group_parameters, read_groups, require_agents
from maestro_env.mappers.base import Mapper
from maestro_env.mappers.parts.arrays import Floats, Integers
from maestro_env.mapspace.space import Space

Grouped = TypeVar("Grouped", bound=GroupConfig)


class GroupedMapper(Mapper[Grouped]):
    """A mapper of agents that each set their own parameters.

    Learning groups costs ``warm_up`` samples, counted outside the budget; groups from a
    file cost nothing. If ``agents`` is changed, a file of groups must have that many.
    """

    def require_fit(self, problem: AnyProblem, objective: Objective) -> None:
        if self.config.groups:
            self._read_groups(problem.space)
        else:
            require_agents(self.config.agents, problem.space, least=0)

    def agents(self, evaluator: Evaluator, rng: np.random.Generator) -> Integers:
        """Return the agent that sets each parameter, int64[D], from 0 on."""
        if self.config.groups:
            groups = self._read_groups(evaluator.space)
        else:
            groups = group_parameters(self.config, evaluator, rng)
        return groups.indices(evaluator.space.columns)

    def _read_groups(self, space: Space) -> AgentGroups:
        agents = self.config.agents
        # The default number is not a request.
        wanted = None if agents == self.DEFAULT.agents else agents
        return read_groups(self.config.groups, space, wanted)


class RelativeRewards:
    """Rewards relative to the median of the first values of which one is valid.

    Args:
        kind: one of ``REWARDS``.
    """

    def __init__(self, kind: str) -> None:
        self._reward = REWARDS[kind]
        self._reference: float | None = None

    def __call__(self, values: Floats) -> Floats:
        """Return the rewards of values float64[N]; 0 of those that are infinite."""
        valid = np.isfinite(values)
        if self._reference is None:
            if not valid.any():
                return np.zeros(len(values))
            self._reference = float(np.median(values[valid]))
        return self._reward(self._reference / values)
