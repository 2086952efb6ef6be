"""One vector for all that the model ``exact`` cannot tell apart, and how two mappings differ."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from experiments.commands.misses.loop_steps import cuts, moving_loops
from maestro_env.mapspace.space import MapSpace, Points
from mappers.parts.choices import orders_of, ranks_of

Booleans = NDArray[np.bool_]
_LEVELS = ("l2", "l1")


def canonical(space: MapSpace, points: Points) -> Points:
    """Return the same mappings, int32[N, D], without differences that cost nothing.

    - An inner tile is cut to the outer one.
    - A parallel loop that keeps one unit busy is the first that does.
    - Loops that take one step stand innermost, in the order of the space's extents.
    """
    made = space.clipped(points)
    for level, alone in zip(_LEVELS, _alone(space, made), strict=True):
        column = space.columns[f"{level}_parallel"]
        chosen = made[:, column, np.newaxis]
        idle = np.take_along_axis(alone, chosen, axis=1)[:, 0]
        made[:, column] = np.where(idle, alone.argmax(axis=1), chosen[:, 0])
    for level, moving in zip(_LEVELS, _moving(space, made), strict=True):
        column = space.columns[f"{level}_order"]
        orders = orders_of(made[:, column], len(space.extents))
        moves = np.take_along_axis(moving, orders, axis=1)
        places = np.where(moves, np.arange(moves.shape[1]), moves.shape[1] + orders)
        made[:, column] = ranks_of(np.take_along_axis(orders, places.argsort(axis=1), axis=1))
    return made


def differences(space: MapSpace, point: Points, others: Points) -> Booleans:
    """Return in which parameters a mapping differs from others, bool[N, D].

    Orders differ if two loops that take several steps in both mappings change places.

    Args:
        space: of the mappings.
        point: int32[D], canonical.
        others: int32[N, D], canonical.
    """
    differ: Booleans = others != point
    both = np.concatenate([point[np.newaxis], others])
    for level, moving in zip(_LEVELS, _moving(space, both), strict=True):
        column = space.columns[f"{level}_order"]
        places = orders_of(both[:, column], moving.shape[1]).argsort(axis=1)
        ahead = places[:, :, np.newaxis] < places[:, np.newaxis]
        move = moving[1:] & moving[0]
        pairs = move[:, :, np.newaxis] & move[:, np.newaxis]
        differ[:, column] = (pairs & (ahead[1:] != ahead[0])).any(axis=(1, 2))
    return differ


def _moving(space: MapSpace, points: Points) -> list[Booleans]:
    """Return of each level which loops take more than one step, bool[N, dimensions]."""
    dims = np.arange(len(space.extents))
    return [(mask[:, np.newaxis] >> dims & 1) == 1 for mask in moving_loops(space, points)]


def _alone(space: MapSpace, points: Points) -> list[Booleans]:
    """Return of each level which parallel loops would keep one unit busy, bool[N, dimensions].

    The dimensions are those that may be parallel.
    """
    found = dict(zip(space.extents, cuts(space, points), strict=True))
    made = []
    for level in range(len(_LEVELS)):
        tiles, strides, extents = [], [], []
        for dim in space.parallel_dims:
            extent, outer, inner = found[dim]
            tile, stride = (outer, inner)[level]
            tiles.append(tile)
            strides.append(stride)
            extents.append((np.full(len(points), extent), outer[0])[level])
        one_unit = np.equal(tiles, strides).all(axis=0)
        made.append((np.greater_equal(tiles, extents) | one_unit).T)
    return made
