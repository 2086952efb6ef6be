"""Cut a tree into groups: into a number of agents, or at a height."""

from __future__ import annotations

import numpy as np

from clustering.errors import GroupingError
from clustering.grouping import Tree
from clustering.groups import AgentGroups


def cut_to_agents(tree: Tree, names: tuple[str, ...], agents: int) -> AgentGroups:
    """Cut a tree into exactly ``agents`` groups.

    A parameter without variance joins the smallest group; it has its own agent only if there are
    more agents than parameters with variance. Ties are broken by name.

    Args:
        tree: of the parameters with variance.
        names: all parameters, in the order of the groups.
        agents: number of agents.

    Raises:
        GroupingError: fewer than one agent, or more than parameters.
    """
    require_agents(agents, len(names))
    groups = _cut(tree, len(tree.leaves) - min(agents, len(tree.leaves)))
    still = sorted(set(names) - set(tree.leaves))
    alone = agents - len(groups)
    groups += [{name} for name in still[:alone]]
    return _with_still(groups, still[alone:], names)


def cut_at(tree: Tree, names: tuple[str, ...], threshold: float) -> AgentGroups:
    """Undo the merges above a height.

    A parameter without variance is alone if the threshold is below the height at which independent
    parameters merge, and else joins the smallest group. Ties are broken by name.

    Args:
        tree: of the parameters with variance.
        names: all parameters, in the order of the groups.
        threshold: the height.

    Raises:
        GroupingError: a negative threshold.
    """
    if not threshold >= 0:
        raise GroupingError(f"threshold is {threshold}; allowed: 0 or more")
    groups = _cut(tree, int(np.count_nonzero(tree.merges[:, 2] <= threshold)))
    still = sorted(set(names) - set(tree.leaves))
    if threshold < tree.apart:
        groups += [{name} for name in still]
        still = []
    return _with_still(groups, still, names)


def require_agents(agents: int, parameters: int) -> None:
    """Refuse a number of agents that does not fit the number of parameters.

    Raises:
        GroupingError: not an integer, fewer than one agent, or more than parameters.
    """
    integral = isinstance(agents, int | np.integer) and not isinstance(agents, bool)
    if not integral or not 1 <= agents <= parameters:
        raise GroupingError(
            f"{agents} agents for {parameters} parameters; allowed: integers from 1 to {parameters}"
        )


def _cut(tree: Tree, merges: int) -> list[set[str]]:
    """Return the groups that the first merges make."""
    clusters = {i: {leaf} for i, leaf in enumerate(tree.leaves)}
    for i, (left, right) in enumerate(tree.merges[:merges, :2].astype(int)):
        clusters[len(tree.leaves) + i] = clusters.pop(left) | clusters.pop(right)
    return list(clusters.values())


def _with_still(groups: list[set[str]], still: list[str], names: tuple[str, ...]) -> AgentGroups:
    """Add parameters without variance to groups; order agents and parameters as the names."""
    for name in still:
        min(groups, key=lambda group: (len(group), min(group))).add(name)
    agents = {name: agent for agent, group in enumerate(groups) for name in group}
    return AgentGroups.from_indices(names, [agents[name] for name in names])
