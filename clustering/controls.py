"""Groupings to compare a learnt one with: random ones, and reversed ones.

The other controls, one agent and one per parameter, are constructors of ``AgentGroups``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from clustering.cut import require_agents
from clustering.dependence import Dependence
from clustering.errors import GroupingError
from clustering.groups import AgentGroups
from clustering.samples import Floats, Integers

# Least gain of an exchange: less is rounding.
_GAIN = 1e-12


def random_groups(
    names: Sequence[str], agents: int | Sequence[int], rng: np.random.Generator
) -> AgentGroups:
    """Draw groups of given sizes uniformly.

    Args:
        names: of all parameters.
        agents: number of parameters of every agent, such as the ``sizes`` of other groups; or the
            number of agents, whose sizes differ by at most one.
        rng: the only source of randomness.

    Raises:
        GroupingError: sizes that do not add up, or fewer than one agent or more than parameters.
    """
    if isinstance(agents, int | np.integer):
        require_agents(agents, len(names))
        share, rest = divmod(len(names), agents)
        agents = [share + (agent < rest) for agent in range(agents)]
    if sum(agents) != len(names) or min(agents, default=0) < 1:
        raise GroupingError(
            f"groups of {', '.join(map(str, agents))} parameters; "
            f"allowed: positive numbers that add up to {len(names)}"
        )
    indices = np.repeat(np.arange(len(agents)), agents)
    return AgentGroups.from_indices(names, rng.permutation(indices))


def reversed_groups(groups: AgentGroups, dependence: Dependence) -> AgentGroups:
    """Return groups of the same sizes with the most dependent parameters in different agents.

    They are a local minimum of the sum of |dependence| over pairs that share an agent: no exchange
    of two parameters reduces it. The start deals the parameters of each agent in turn to the agents
    that have room.

    Raises:
        GroupsError: the groups are not of the dependence's parameters.
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
    member = np.eye(agents.max() + 1)[agents]
    ties = (matrix - np.diag(np.diag(matrix))) @ member
    best, exchanged = _GAIN, None
    for i, j in combinations(range(len(agents)), 2):
        before = ties[i, agents[i]] + ties[j, agents[j]]
        after = ties[i, agents[j]] + ties[j, agents[i]] - 2 * matrix[i, j]
        if agents[i] != agents[j] and before - after > best:
            best, exchanged = before - after, (i, j)
    if exchanged is not None:
        i, j = exchanged
        agents[i], agents[j] = agents[j], agents[i]
    return exchanged is not None
