"""Algorithm 1 of the paper: from samples to agents."""

from __future__ import annotations

from dataclasses import dataclass

from maestro_env.clustering.dependence import Dependence, measure_dependence
from maestro_env.clustering.errors import GroupingError
from maestro_env.clustering.groups import AgentGroups
from maestro_env.clustering.samples import Samples
from maestro_env.clustering.tree import Tree, agglomerate, cut_at, cut_to_agents

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
