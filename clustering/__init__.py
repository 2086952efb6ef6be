"""Which parameters of a map space share an agent (Algorithm 1 of the paper)."""

from maestro_env.clustering.algorithm import AGENTS, Clustering, cluster
from maestro_env.clustering.dependence import MEASURES, Dependence, measure_dependence
from maestro_env.clustering.groups import LINKAGES, AgentGroups, Tree
from maestro_env.clustering.samples import (
    KINDS,
    ClusteringError,
    GroupingError,
    Samples,
    SamplesError,
)

if __name__ != "maestro_env.clustering":
    raise ImportError("this folder is the package maestro_env.clustering: import that")

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
