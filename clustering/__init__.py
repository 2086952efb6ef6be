"""Which parameters of a map space share an agent (Algorithm 1 of the paper)."""

from clustering.algorithm import AGENTS, Clustering, cluster
from clustering.dependence import MEASURES, Dependence, measure_dependence
from clustering.errors import ClusteringError, GroupingError, SamplesError
from clustering.groups import AgentGroups
from clustering.samples import KINDS, Samples
from clustering.tree import LINKAGES, Tree

__all__ = [
    "AGENTS",
    "KINDS",
    "LINKAGES",
    "MEASURES",
    "AgentGroups",
    "Clustering",
    "ClusteringError",
    "Dependence",
    "GroupingError",
    "Samples",
    "SamplesError",
    "Tree",
    "cluster",
    "measure_dependence",
]
