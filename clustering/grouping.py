"""Agglomerative clustering of parameters (Algorithm 1, step 4)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform

from clustering.dependence import Dependence
from clustering.errors import GroupingError, unknown
from clustering.samples import Floats

# Closer than this, dependences count as equal: rounding must not decide between them.
_DECIMALS = 12


@dataclass(frozen=True)
class Linkage:
    """A way to agglomerate.

    Args:
        function: float64[V, V] of at least two parameters to scipy's linkage matrix.
        apart: height at which two parameters merge that depend on nothing.
        summary: one line for users.
    """

    function: Callable[[Floats], Floats]
    apart: float
    summary: str


@dataclass(frozen=True, eq=False)
class Tree:
    """What merges with what: ``scipy.cluster.hierarchy.dendrogram(merges, labels=leaves)``.

    Args:
        leaves: the V parameters with variance, by name.
        merges: float64[V - 1, 4], scipy's linkage matrix; heights ascend.
        apart: height at which two parameters merge that depend on nothing.
    """

    leaves: tuple[str, ...]
    merges: Floats
    apart: float


def _ward_rows(matrix: Floats) -> Floats:
    merges: Floats = hierarchy.linkage(matrix, "ward")
    return merges


def _average(matrix: Floats) -> Floats:
    distances = squareform(1 - np.abs(matrix), checks=False)
    merges: Floats = hierarchy.linkage(distances, "average")
    return merges


LINKAGES: Mapping[str, Linkage] = MappingProxyType(
    {
        "ward_rows": Linkage(
            _ward_rows, math.sqrt(2), "Ward on distances between rows of the matrix"
        ),
        "average": Linkage(_average, 1.0, "mean of 1 - |dependence|"),
    }
)
"""Linkages by name.

The paper names neither linkage nor distance. Its thresholds, below 0.5 for every parameter alone
and above 2.5 for all together, fit ``ward_rows`` and cannot come from ``average``, whose heights
end at 1. The rows have signs: to ``ward_rows`` parameters with r = -1 are as far apart as can be,
to ``average`` they are one.
"""


def agglomerate(dependence: Dependence, linkage: str = "ward_rows") -> Tree:
    """Merge parameters with variance, the most dependent first.

    The tree is the same in whatever order the parameters are: ties go by name.

    Raises:
        GroupingError: no such linkage.
    """
    if linkage not in LINKAGES:
        raise GroupingError(unknown("linkage", linkage, LINKAGES))
    varying = [i for i, varies in enumerate(dependence.varying) if varies]
    order = sorted(varying, key=lambda i: dependence.names[i])
    matrix = dependence.matrix[np.ix_(order, order)].round(_DECIMALS)
    merges = LINKAGES[linkage].function(matrix) if len(order) > 1 else np.empty((0, 4))
    return Tree(tuple(dependence.names[i] for i in order), merges, LINKAGES[linkage].apart)
