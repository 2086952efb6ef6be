"""Parts of the mappings on any memories: those that wait, and those of a certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maestro_env.hierarchy.units import Numbers
from maestro_env.optimum.lines import Line, Shares

RATIOS = (4.0, 2.0, 1.5, 1.25, 1.1, 1.0)
"""Ratios up to which classes of tiles are merged, coarse ones first."""


@dataclass(frozen=True)
class Node:
    """Mappings with some tuples of units.

    Args:
        bound: none of them has less.
        rank: of two nodes of equal bounds the lower comes first.
        fineness: of the classes that the bound is from, an index of ``RATIOS``.
        tuples: their numbers.
        outer: least and most of the tiles that the first memory's loops leave, int64[2, 8].
        shares: of ports, whose lines bound it highest, if it has some outer tiles alone.
    """

    bound: float
    rank: int
    fineness: int
    tuples: Numbers
    outer: NDArray[np.int64]
    shares: Sequence[Shares] = ()

    def __lt__(self, other: Node) -> bool:
        return (self.bound, self.rank) < (other.bound, other.rank)


@dataclass(frozen=True, eq=False)
class Leaf:
    """Mappings with some units, and lines that none of them is below.

    Args:
        least, most: of each feature of their units, as ``left`` has them.
        outer: of the tiles that the first memory's loops leave.
        ratio: of the classes of tiles.
        lines: the first one is that of the MACs.
    """

    least: NDArray[np.int64]
    most: NDArray[np.int64]
    outer: NDArray[np.int64]
    ratio: float
    lines: list[Line]
