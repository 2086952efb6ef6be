"""Which agent sets which parameters, and the tree that groups are cut from (step 4)."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from maestro_env.clustering.dependence import Dependence
from maestro_env.clustering.samples import Floats, GroupingError, Integers, unknown


@dataclass(frozen=True)
class AgentGroups(Mapping[str, tuple[str, ...]]):
    """Agents and their parameters, in order: ``groups["agent_0"]`` is a tuple of names.

    Args:
        pairs: name and parameters of each agent.

    Raises:
        GroupingError: no agent, one without parameters, or an agent or parameter given twice.
    """

    pairs: tuple[tuple[str, tuple[str, ...]], ...]

    def __post_init__(self) -> None:
        if not self.pairs:
            raise GroupingError("groups have no agent: at least one is needed")
        agents = tuple(agent for agent, _ in self.pairs)
        for what, names in ("agent", agents), ("parameter", self.names):
            if repeated := [name for name, count in Counter(names).items() if count > 1]:
                raise GroupingError(
                    f"{what} {', '.join(repeated)} is given twice: each is allowed once"
                )
        for agent, names in self.pairs:
            if not names:
                raise GroupingError(
                    f"agent '{agent}' has no parameter: give it one, or leave it out"
                )

    @classmethod
    def of(cls, groups: Iterable[Iterable[str]]) -> AgentGroups:
        """Make groups whose agents are named ``agent_0``, ``agent_1`` and so on."""
        return cls(tuple((f"agent_{i}", tuple(group)) for i, group in enumerate(groups)))

    @classmethod
    def from_indices(cls, names: Sequence[str], agents: Sequence[int] | Integers) -> AgentGroups:
        """Make groups from the index of every parameter's agent (Algorithm 1, step 5).

        Agents are renumbered in the order of their first parameters.
        """
        groups: dict[int, list[str]] = {}
        for name, agent in zip(names, agents, strict=True):
            groups.setdefault(int(agent), []).append(name)
        return cls.of(groups.values())

    @classmethod
    def from_json(cls, text: str, names: Iterable[str]) -> AgentGroups:
        """Read groups of the parameters ``names``: an object of agents and lists of parameters.

        Raises:
            GroupingError: not JSON, not such an object, or not each of the parameters once.
        """
        form = 'allowed: an object of agents and their parameters, {"agent_0": ["l2_order"], ...}'
        try:
            pairs = json.loads(text, object_pairs_hook=tuple)
        except (ValueError, RecursionError) as error:
            raise GroupingError(f"groups are not JSON ({error}); {form}") from None
        if not isinstance(pairs, tuple):
            raise GroupingError(f"groups are {pairs!r:.40}; {form}")
        for agent, group in pairs:
            if not isinstance(group, list) or not all(isinstance(name, str) for name in group):
                raise GroupingError(f"agent '{agent}' is not a list of names; {form}")
        return cls(tuple((agent, tuple(group)) for agent, group in pairs)).for_names(names)

    def to_json(self) -> str:
        """Return the text that ``from_json`` reads."""
        return json.dumps(dict(self.pairs), indent=2) + "\n"

    def __getitem__(self, agent: str) -> tuple[str, ...]:
        return dict(self.pairs)[agent]

    def __iter__(self) -> Iterator[str]:
        return iter(dict(self.pairs))

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def names(self) -> tuple[str, ...]:
        """Parameters of all agents, agent by agent."""
        return tuple(name for _, group in self.pairs for name in group)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of parameters of every agent."""
        return tuple(len(group) for _, group in self.pairs)

    def indices(self, names: Iterable[str]) -> Integers:
        """Return the index of every parameter's agent, int64[D].

        Raises:
            GroupingError: the groups are not of these parameters.
        """
        ordered = tuple(names)
        self.for_names(ordered)
        agents = {name: i for i, group in enumerate(self.values()) for name in group}
        return np.array([agents[name] for name in ordered], dtype=np.int64)

    def for_names(self, names: Iterable[str]) -> AgentGroups:
        """Return these groups for a layer with the parameters ``names``.

        Raises:
            GroupingError: the layer lacks a parameter of the groups, or has one they lack.
        """
        allowed = tuple(names)
        for agent, group in self.pairs:
            for name in group:
                if name not in allowed:
                    what = unknown("parameter", name, allowed)
                    raise GroupingError(f"agent '{agent}': {what}; leave it out if there is none")
        if missing := [name for name in allowed if name not in self.names]:
            raise GroupingError(
                f"no agent has parameter {', '.join(missing)}: give it to one of "
                f"{', '.join(self)}, or learn groups on a layer that has it"
            )
        return self


# Decimals to which dependences are compared, so that rounding does not decide between equals.
_DECIMALS = 12


@dataclass(frozen=True)
class Linkage:
    """A linkage of agglomerative clustering.

    Args:
        function: float64[V, V] of at least two parameters to scipy's linkage matrix.
        apart: height at which two independent parameters merge.
        summary: one line for users.
    """

    function: Callable[[Floats], Floats]
    apart: float
    summary: str


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree of merges: ``scipy.cluster.hierarchy.dendrogram(merges, labels=leaves)`` draws it.

    Args:
        leaves: the V parameters with variance, by name.
        merges: float64[V - 1, 4], scipy's linkage matrix; heights ascend.
        apart: height at which two independent parameters merge.
    """

    leaves: tuple[str, ...]
    merges: Floats
    apart: float


# Functions of scipy are imported where they are used: that takes a third of a second, and agents
# that are not grouped need none.


def _ward(matrix: Floats) -> Floats:
    from scipy.cluster import hierarchy

    merges: Floats = hierarchy.ward(matrix)
    return merges


def _average(matrix: Floats) -> Floats:
    from scipy.cluster import hierarchy
    from scipy.spatial.distance import squareform

    merges: Floats = hierarchy.average(squareform(1 - np.abs(matrix), checks=False))
    return merges


LINKAGES: Mapping[str, Linkage] = {
    "ward_rows": Linkage(_ward, math.sqrt(2), "Ward on distances between rows of the matrix"),
    "average": Linkage(_average, 1.0, "mean of 1 - |dependence|"),
}
"""Linkages by name.

The paper names neither linkage nor distance. Its thresholds, below 0.5 for every parameter alone
and above 2.5 for all together, fit ``ward_rows``, but not ``average``, whose heights are at most 1.
Rows have signs: two parameters with r = -1 have the largest distance under ``ward_rows``, and
distance 0 under ``average``.
"""


def agglomerate(dependence: Dependence, linkage: str = "ward_rows") -> Tree:
    """Merge parameters with variance, the most dependent first.

    The tree does not depend on the order of parameters: ties are broken by name.

    Raises:
        GroupingError: no such linkage.
    """
    if linkage not in LINKAGES:
        raise GroupingError(unknown("linkage", linkage, LINKAGES))
    order = sorted(np.flatnonzero(dependence.varying), key=lambda i: dependence.names[i])
    matrix = dependence.matrix[np.ix_(order, order)].round(_DECIMALS)
    merges = LINKAGES[linkage].function(matrix) if len(order) > 1 else np.empty((0, 4))
    return Tree(tuple(dependence.names[i] for i in order), merges, LINKAGES[linkage].apart)


def cut_to_agents(tree: Tree, names: tuple[str, ...], agents: int) -> AgentGroups:
    """Cut a tree into exactly ``agents`` groups of all parameters ``names``.

    A parameter without variance joins the smallest group; it has its own agent only if there are
    more agents than parameters with variance. Ties are broken by name.

    Raises:
        GroupingError: fewer than one agent, or more than parameters.
    """
    require_agents(agents, len(names))
    merged = min(agents, len(tree.leaves))
    return _cut(tree, names, len(tree.leaves) - merged, agents - merged)


def cut_at(tree: Tree, names: tuple[str, ...], threshold: float) -> AgentGroups:
    """Undo the merges above a height, in a tree of some of the parameters ``names``.

    A parameter without variance is alone if the threshold is below the height at which independent
    parameters merge, and else joins the smallest group. Ties are broken by name.

    Raises:
        GroupingError: a negative threshold.
    """
    if not threshold >= 0:
        raise GroupingError(f"threshold is {threshold}; allowed: 0 or more")
    merges = int(np.count_nonzero(tree.merges[:, 2] <= threshold))
    return _cut(tree, names, merges, len(names) if threshold < tree.apart else 0)


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


def _cut(tree: Tree, names: tuple[str, ...], merges: int, alone: int) -> AgentGroups:
    """Group by the first merges; at most ``alone`` parameters without variance stay alone."""
    clusters = {i: {leaf} for i, leaf in enumerate(tree.leaves)}
    for i, (left, right) in enumerate(tree.merges[:merges, :2].astype(int), len(tree.leaves)):
        clusters[i] = clusters.pop(left) | clusters.pop(right)
    still = sorted(set(names) - set(tree.leaves))
    groups = [*clusters.values(), *({name} for name in still[:alone])]
    for name in still[alone:]:
        min(groups, key=lambda group: (len(group), min(group))).add(name)
    agents = {name: agent for agent, group in enumerate(groups) for name in group}
    return AgentGroups.from_indices(names, [agents[name] for name in names])
