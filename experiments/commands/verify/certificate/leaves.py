"""The mappings of boxes in which all but the orders of loops is chosen."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import permutations

import numpy as np

from maestro_env.experiments.commands.verify.bounds.boxes import (
    INNERMOST,
    NONE,
    PARALLEL,
    UNDECIDED,
    Facts,
    Flags,
    Table,
    first,
)
from maestro_env.experiments.commands.verify.bounds.sides import Ranges
from maestro_env.mapspace.space import Points, lehmer_rank

_TOGETHER = 16_384


def mappings(facts: Facts, leaves: Table) -> Iterator[Points]:
    """Yield int32[n, D] vectors: of each box, one for every order of the loops that move (E8.8)."""
    if not len(leaves):
        return
    r = Ranges(facts, leaves)
    outer_column, inner_column = (facts.space.columns[f"{level}_order"] for level in ("l2", "l1"))
    waiting: list[Points] = []
    count = 0
    for leaf, outer_moves, inner_moves in zip(
        leaves, (r.steps_a > 1).T, (r.piece_steps_a > 1).T, strict=True
    ):
        point = _point(facts, leaf)
        outer = _orders(facts, outer_moves, int(leaf[INNERMOST]))
        inner = _orders(facts, inner_moves, int(leaf[INNERMOST + 1]))
        for rank in outer:
            points = np.tile(point, (len(inner), 1))
            points[:, outer_column] = rank
            points[:, inner_column] = inner
            waiting.append(points)
            count += len(points)
            if count >= _TOGETHER:
                yield np.concatenate(waiting)
                waiting, count = [], 0
    if count:
        yield np.concatenate(waiting)


def _point(facts: Facts, leaf: Table) -> Points:
    """Return the vector of a leaf; its orders are to be filled in."""
    columns = facts.space.columns
    point = np.zeros(len(columns), dtype=np.int32)
    for axis, column in facts.columns.items():
        point[column] = leaf[first(axis)]
    for level, name in enumerate(("l2_parallel", "l1_parallel")):
        point[columns[name]] = facts.parallel[level].index(leaf[PARALLEL + level])
    return point


def _orders(facts: Facts, moves: Flags, innermost: int) -> tuple[int, ...]:
    """Return the ranks of a level's orders that differ in loops that move."""
    moving = tuple(d for d, each in zip(facts.cut, moves.tolist(), strict=True) if each)
    return _ranks(len(facts.dims), moving, innermost)


@lru_cache(maxsize=1024)
def _ranks(dims: int, moving: tuple[int, ...], innermost: int) -> tuple[int, ...]:
    still = [d for d in range(dims) if d not in moving]
    return tuple(
        lehmer_rank([*still, *order])
        for order in permutations(moving)
        if innermost in (UNDECIDED, order[-1] if order else NONE)
    )
