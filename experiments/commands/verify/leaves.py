"""The mappings of boxes in which all but the orders of loops is chosen."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from experiments.commands.verify.boxes import (
    INNER_INNERMOST,
    INNER_PARALLEL,
    OUTER_INNERMOST,
    OUTER_PARALLEL,
    UNDECIDED,
    Table,
    ends,
    equivalent,
    first,
)
from experiments.commands.verify.facts import Facts
from experiments.commands.verify.ranges import Ranges
from maestro_env.mapspace.space import Points, lehmer_rank

_TOGETHER = 16_384


def mappings(facts: Facts, leaves: Table) -> Iterator[Points]:
    """Yield int32[n, D] vectors: of each box, one for every order of the loops that move (E8.8)."""
    if not len(leaves):
        return
    r = Ranges(facts, ends(facts, leaves))
    waiting: list[Points] = []
    count = 0
    for leaf, outer_moves, inner_moves in zip(
        leaves, (r.steps_a > 1).T, (r.piece_steps_a > 1).T, strict=True
    ):
        point = _point(facts, leaf)
        outer = _orders(facts, outer_moves, int(leaf[OUTER_INNERMOST]))
        inner = _orders(facts, inner_moves, int(leaf[INNER_INNERMOST]))
        for rank in outer:
            points = np.tile(point, (len(inner), 1))
            points[:, facts.space.columns["l2_order"]] = rank
            points[:, facts.space.columns["l1_order"]] = inner
            waiting.append(points)
            count += len(points)
            if count >= _TOGETHER:
                yield np.concatenate(waiting)
                waiting, count = [], 0
    if count:
        yield np.concatenate(waiting)


def _point(facts: Facts, leaf: NDArray[np.int32]) -> Points:
    """Return the vector of a leaf; its orders are to be filled in."""
    dims, columns = len(facts.dims), facts.space.columns
    point = np.zeros(len(columns), dtype=np.int32)
    values = {"cluster_size": leaf[first(2 * dims)]}
    for d, dim in enumerate(facts.dims):
        for level, axis in (("l2", d), ("l1", dims + d)):
            values[f"{level}_tile_{dim.rstrip(chr(39))}"] = leaf[first(axis)]
    for level, column in (("l2", OUTER_PARALLEL), ("l1", INNER_PARALLEL)):
        values[f"{level}_parallel"] = next(
            choice
            for choice, dim in enumerate(facts.space.parallel_dims)
            if equivalent(facts, facts.dims.index(dim)) == leaf[column]
        )
    for name, value in values.items():
        if name in columns:
            point[columns[name]] = value
    return point


def _orders(facts: Facts, moves: NDArray[np.bool_], innermost: int) -> tuple[int, ...]:
    """Return the ranks of a level's orders that differ in loops that move."""
    moving = tuple(d for d, each in zip(facts.cut, moves.tolist(), strict=True) if each)
    if innermost != UNDECIDED and innermost not in (moving or (-1,)):
        return ()
    return _ranks(len(facts.dims), moving, innermost)


@lru_cache(maxsize=1024)
def _ranks(dims: int, moving: tuple[int, ...], innermost: int) -> tuple[int, ...]:
    still = [d for d in range(dims) if d not in moving]
    return tuple(
        lehmer_rank([*still, *order])
        for order in permutations(moving)
        if innermost == UNDECIDED or not order or order[-1] == innermost
    )
