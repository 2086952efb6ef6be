"""How the loops of many mappings deal out their work: which take steps, what one PE gets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maestro_env.map_space import MapSpace, Parameter, Points

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Cut:
    """How a level of N mappings cuts a dimension.

    Args:
        tile: int64[N], indices a unit gets at a time.
        units: int64[N], units that get tiles at a time; 1 where the loop is not parallel.
    """

    tile: Integers
    units: Integers

    def steps(self, extent: Integers) -> Integers:
        """Return the steps of the loop over an extent."""
        return -(-extent // (self.tile * self.units))

    def last(self, extent: Integers) -> Integers:
        """Return what the first unit gets in the last step."""
        left = extent - (self.steps(extent) - 1) * self.tile * self.units
        return np.minimum(self.tile, left)


def moving_loops(space: MapSpace, points: Points) -> tuple[Integers, Integers]:
    """Return which loops of L2 and of L1 take more than one step, of int32[N, D] vectors.

    A dimension is the bit that is its place among the space's extents.
    """
    outer_moving, inner_moving = np.zeros((2, len(points)), dtype=np.int64)
    for bit, (extent, outer, inner) in enumerate(_cuts(space, points)):
        outer_moving |= (outer.tile * outer.units < extent).astype(np.int64) << bit
        inner_moving |= (inner.tile * inner.units < outer.tile).astype(np.int64) << bit
    return outer_moving, inner_moving


def first_pe_macs(space: MapSpace, points: Points) -> NDArray[np.float64]:
    """Return the MACs of the first PE, float64[N], of int32[N, D] vectors.

    It is busy whenever another is, so no mapping takes fewer cycles than it needs for them.
    """
    macs = np.ones(len(points))
    for extent, outer, inner in _cuts(space, points):

        def share(tile: Integers, inner: Cut = inner) -> Integers:
            return (inner.steps(tile) - 1) * inner.tile + inner.last(tile)

        macs *= (outer.steps(extent) - 1) * share(outer.tile) + share(outer.last(extent))
    return macs


def _cuts(space: MapSpace, points: Points) -> Iterator[tuple[Integers, Cut, Cut]]:
    """Yield the extent of every dimension, and how L2 and L1 cut it."""
    columns = {parameter.name: index for index, parameter in enumerate(space.parameters)}

    def sizes(size: Parameter | int) -> Integers:
        if isinstance(size, int):
            return np.full(len(points), size, dtype=np.int64)
        chosen = points[:, columns[size.name]].astype(np.int64)
        return chosen + 1 if isinstance(size.values, range) else np.array(size.values)[chosen]

    cluster = sizes(space.cluster)
    units = {"l2": space.hardware.num_pes // cluster, "l1": cluster}

    def cut(level: str, dim: str, most: Integers) -> Cut:
        tile = np.minimum(sizes(space.tile(level, dim)), most)
        if dim not in space.parallel_dims:
            return Cut(tile, np.ones_like(tile))
        parallel = points[:, columns[f"{level}_parallel"]] == space.parallel_dims.index(dim)
        return Cut(tile, np.where(parallel, units[level], 1))

    for dim, size in space.extents.items():
        extent = np.full(len(points), size, dtype=np.int64)
        outer = cut("l2", dim, extent)
        yield extent, outer, cut("l1", dim, outer.tile)
