"""Groupings to compare a learnt one with: random ones, and reversed ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maestro_env.clustering.dependence import Dependence
from maestro_env.clustering.groups import AgentGroups
from maestro_env.clustering.samples import Floats, Integers
from maestro_env.clustering.tree import require_agents

# Least gain of an exchange: less is rounding.
_GAIN = 1e-12


def random_groups(names: Sequence[str], agents: int, rng: np.random.Generator) -> AgentGroups:
    """Draw groups uniformly whose sizes differ by at most one.

    Raises:
        GroupingError: fewer than one agent, or more than parameters.
    """
    require_agents(agents, len(names))
    return AgentGroups.from_indices(names, rng.permutation(np.sort(np.arange(len(names)) % agents)))


def reversed_groups(groups: AgentGroups, dependence: Dependence) -> AgentGroups:
    """Return groups of the same sizes with the most dependent parameters in different agents.

    They are a local minimum of the sum of |dependence| over pairs that share an agent: no exchange
    of two parameters reduces it. The start deals the parameters of each agent in turn to the agents
    that have room.

    Raises:
        GroupingError: the groups are not of the dependence's parameters.
    """
    groups.for_names(dependence.names)
    matrix = np.abs(dependence.matrix)
    agents = np.empty(len(dependence.names), dtype=np.int64)
    # Deals: first one parameter for every agent, then one for every agent that has room, ...
    turns = sorted((turn, agent) for agent, size in enumerate(groups.sizes) for turn in range(size))
    for name, (_, agent) in zip(groups.names, turns, strict=True):
        agents[dependence.names.index(name)] = agent
    while _exchange(agents, matrix):
        pass
    return AgentGroups.from_indices(dependence.names, agents)


def _exchange(agents: Integers, matrix: Floats) -> bool:
    """Exchange the pair of parameters that most reduces the dependence within agents, if any."""
    # Dependence of each parameter on those of each agent, without itself, [D, B].
    ties = (matrix - np.diag(np.diag(matrix))) @ np.eye(agents.max() + 1)[agents]
    now, then = ties[np.arange(len(agents)), agents], ties[:, agents]
    gains = (now[:, np.newaxis] + now) - (then + then.T - 2 * matrix)
    gains = np.triu(np.where(agents[:, np.newaxis] != agents, gains, 0))
    i, j = np.unravel_index(np.argmax(gains), gains.shape)
    if gains[i, j] <= _GAIN:
        return False
    agents[[i, j]] = agents[[j, i]]
    return True
