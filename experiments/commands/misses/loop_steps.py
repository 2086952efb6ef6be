"""How the loops of mappings share out their work: tiles, strides and steps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from maestro_env.mapspace.parameter import Parameter
from maestro_env.mapspace.space import MapSpace, Points
from mappers.parts.choices import sizes_at

Integers = NDArray[np.int64]
_Cut = tuple[Integers, Integers]


def moving_loops(space: MapSpace, points: Points) -> tuple[Integers, Integers]:
    """Return which loops of L2 and of L1 take more than one step, as masks, int64[N] each.

    Bit i stands for the i-th of the space's extents.
    """
    outer_moving, inner_moving = np.zeros((2, len(points)), dtype=np.int64)
    for bit, (extent, (tile, stride), (_, inner_stride)) in enumerate(cuts(space, points)):
        outer_moving |= (stride < extent).astype(np.int64) << bit
        inner_moving |= (inner_stride < tile).astype(np.int64) << bit
    return outer_moving, inner_moving


def cuts(space: MapSpace, points: Points) -> Iterator[tuple[int, _Cut, _Cut]]:
    """Yield every dimension's extent, and how L2 and L1 cut it.

    A cut is the tile of one unit and the stride of one step, which is the tiles of all units.
    """

    def sizes(size: Parameter | int) -> Integers:
        if isinstance(size, int):
            return np.full(len(points), size)
        return sizes_at(size, points[:, space.columns[size.name]])

    cluster = sizes(space.cluster)
    units = {"l2": space.hardware.num_pes // cluster, "l1": cluster}

    def cut(level: str, dim: str, extent: Integers | int) -> _Cut:
        tile = np.minimum(sizes(space.tile(level, dim)), extent)
        if dim not in space.parallel_dims:
            return tile, tile
        chosen = points[:, space.columns[f"{level}_parallel"]]
        parallel = chosen == space.parallel_dims.index(dim)
        return tile, np.where(parallel, tile * units[level], tile)

    for dim, extent in space.extents.items():
        outer = cut("l2", dim, extent)
        yield extent, outer, cut("l1", dim, outer[0])
