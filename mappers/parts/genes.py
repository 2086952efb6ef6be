"""Genes: the columns of a space's points by meaning, and their limits, for GAMMA's operators."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maestro_env.mappers.parts.arrays import Integers
from maestro_env.mappers.parts.choices import sizes_at
from maestro_env.mapspace.space import LEVELS, MapSpace, Points

FIXED = -1
"""The column of a gene that the schema fixes."""


class Genes:
    """Columns of a space's points by their meaning; in pairs, the outer level comes first.

    Attributes:
        orders: columns of the loop orders.
        parallels: columns of the parallel dimensions, whose choices are the same.
        tiles: columns of the tiles of every dimension, intp[dims, 2].
        cluster: column of the cluster size.
    """

    def __init__(self, space: MapSpace) -> None:
        self.space = space

        def pair(name: str) -> list[int]:
            return [space.columns.get(f"{level}_{name}", FIXED) for level in LEVELS]

        self.orders, self.parallels = pair("order"), pair("parallel")
        # Y' and X' lose their mark in the name of a parameter.
        tiles = [pair("tile_" + dim.rstrip("'")) for dim in space.extents]
        self.tiles: NDArray[np.intp] = np.array(tiles, dtype=np.intp)
        self.cluster = space.columns.get("cluster_size", FIXED)

    def limits(self, points: Points) -> Points:
        """Return the largest choice of every entry, int32[N, D]: an inner tile's is the outer's."""
        limits = np.tile((self.space.sizes - 1).astype(np.int32), (len(points), 1))
        outer, inner = self.tiles[(self.tiles != FIXED).all(axis=1)].T
        limits[:, inner] = points[:, outer]
        return limits

    def cluster_limits(self, points: Points) -> Integers:
        """Return the largest useful cluster sizes, int64[N].

        A cluster splits one outer tile: PEs beyond its extent would idle.
        """
        tiles = np.stack(
            [self._outer_sizes(points, dim) for dim in self.space.parallel_dims_of("l1")], axis=1
        )
        of_inner = tiles[np.arange(len(points)), points[:, self.parallels[1]]]
        return np.minimum(of_inner, self.space.hardware.num_pes)

    def _outer_sizes(self, points: Points, dim: str) -> Integers:
        tile = self.space.tile("l2", dim)
        if isinstance(tile, int):
            return np.full(len(points), tile, dtype=np.int64)
        return sizes_at(tile, points[:, self.space.columns[tile.name]])
