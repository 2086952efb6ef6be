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
    varying = [i for i, varies in enumerate(dependence.varying) if varies]
    order = sorted(varying, key=lambda i: dependence.names[i])
    matrix = dependence.matrix[np.ix_(order, order)].round(_DECIMALS)
    merges = LINKAGES[linkage].function(matrix) if len(order) > 1 else np.empty((0, 4))
    return Tree(tuple(dependence.names[i] for i in order), merges, LINKAGES[linkage].apart)
