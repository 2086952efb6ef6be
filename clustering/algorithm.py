"""Algorithm 1 of the paper: from samples to agents; groupings to compare with, and stability."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from maestro_env.clustering.dependence import Dependence, measure_dependence
from maestro_env.clustering.groups import (
    AgentGroups,
    Tree,
    agglomerate,
    cut_at,
    cut_to_agents,
    require_agents,
)
from maestro_env.clustering.samples import Floats, GroupingError, Integers, Samples

AGENTS = 6
"""Default number of agents: the smaller of the paper's two best numbers (Fig. 6)."""


@dataclass(frozen=True, eq=False)
class Clustering:
    """A grouping, and the dependence and tree it was made from."""

    groups: AgentGroups
    dependence: Dependence
    tree: Tree


def cluster(
    samples: Samples,
    agents: int | None = None,
    threshold: float | None = None,
    measure: str = "pearson",
    linkage: str = "ward_rows",
    fraction: float = 0.15,
) -> Clustering:
    """Assign dependent parameters to the same agent.

    Args:
        samples: of a layer, from any policy.
        agents: number of agents, the paper's budget B; by default ``AGENTS``, or one per parameter
            if there are fewer parameters.
        threshold: height at which the tree is cut, in place of ``agents``.
        measure: a name of ``MEASURES``.
        linkage: a name of ``LINKAGES``.
        fraction: share of samples that count as the best.

    Raises:
        SamplesError: samples without information on the parameters' dependence.
        GroupingError: agents and a threshold are both given, or an argument is not allowed.
    """
    if agents is not None and threshold is not None:
        raise GroupingError(
            f"agents {agents} and threshold {threshold} are given: give one of them"
        )
    dependence = measure_dependence(samples, measure, fraction)
    tree = agglomerate(dependence, linkage)
    if threshold is not None:
        groups = cut_at(tree, samples.names, threshold)
    else:
        budget = min(AGENTS, len(samples.names)) if agents is None else agents
        groups = cut_to_agents(tree, samples.names, budget)
    return Clustering(groups, dependence, tree)


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


@dataclass(frozen=True)
class Stability:
    """Agreement of groupings of random halves of the samples.

    Agreement is the mean adjusted Rand index: 1 for the same groups, 0 for agreement by chance.
    One agent, or one per parameter, always has 1.

    Args:
        with_whole: of halves with the grouping of all samples. As these contain the half, new
            samples would agree less.
        of_halves: of two disjoint halves: the agreement expected of new samples, half as many.
    """

    with_whole: float
    of_halves: float


def stability(
    samples: Samples,
    rng: np.random.Generator,
    grouping: Callable[[Samples], Clustering] = cluster,
    splits: int = 50,
) -> Stability:
    """Bootstrap a grouping by half samples.

    Random halves without replacement vary as much as bootstrap samples, but repeat no sample;
    ``cramers_v`` and ``interaction`` would count repetitions as evidence.

    Args:
        samples: of a layer.
        rng: the only source of randomness.
        grouping: ``cluster``, or with arguments bound by ``functools.partial``.
        splits: number of random splits into two halves.

    Raises:
        GroupingError: fewer than one split.
        SamplesError: a half has no information on the parameters' dependence.
    """
    from sklearn.metrics import adjusted_rand_score  # It takes a second, which --help need not.

    if splits < 1:
        raise GroupingError(f"{splits} splits; allowed: 1 or more")

    def agents(rows: Integers) -> Integers:
        return grouping(samples.subset(rows)).groups.indices(samples.names)

    whole = agents(np.arange(len(samples)))
    half = len(samples) // 2
    with_whole, of_halves = [], []
    for _ in range(splits):
        rows = rng.permutation(len(samples))
        halves = agents(rows[:half]), agents(rows[half : 2 * half])
        of_halves.append(adjusted_rand_score(*halves))
        with_whole += [adjusted_rand_score(whole, each) for each in halves]
    return Stability(float(np.mean(with_whole)), float(np.mean(of_halves)))
