"""The blocks of a certificate: what becomes of each box of a list, and its mappings (9)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

from maestro_env.experiments.commands.verify.bounds.boxes import (
    INNERMOST,
    NONE,
    PARALLEL,
    UNDECIDED,
    Facts,
    Flags,
    Table,
    first,
    last,
    tidy,
    whole,
)
from maestro_env.experiments.commands.verify.bounds.sides import Ranges
from maestro_env.experiments.commands.verify.claim import CertificateError, Stream
from maestro_env.mapspace.space import Points, lehmer_rank

Rows = NDArray[np.int64]

EVALUATE = 255
_FROM_BELOW = 128
_UINT8 = np.uint8


@dataclass(frozen=True)
class Block:
    """A block.

    Attributes:
        trimmed, trim_axes: of each trim its box and its axis.
        from_below: whether it leaves out the choices before its end, or those behind.
        trim_ends: the first or the last choice that is left.
        actions: of each box the axis that it is split by, or ``EVALUATE``.
        counts: number of its parts.
        parents: of each part its box.
        values: its choices, or its innermost loop.
        goes_on: whether it is looked into.
    """

    trimmed: NDArray[np.int64]
    trim_axes: NDArray[np.int64]
    from_below: Flags
    trim_ends: NDArray[np.int32]
    actions: NDArray[np.int64]
    counts: NDArray[np.int64]
    parents: NDArray[np.int64]
    values: NDArray[np.int32]
    goes_on: Flags


def read_roots(stream: Stream, facts: Facts) -> Table:
    """Read the first boxes, which must cover all pairs of parallel dimensions."""
    count = int(stream.array(1, _UINT8)[0])
    roots = stream.array(2 * count, np.int8).reshape(-1, 2)
    needed = set(product(*facts.parallel))
    given = [tuple(pair) for pair in roots.tolist()]
    for pair in given:
        if pair not in needed:
            raise CertificateError(f"root {_named(facts, pair)} is not a pair of parallel loops")
        if given.count(pair) > 1:
            raise CertificateError(f"root {_named(facts, pair)} is there twice")
    for pair in sorted(needed - set(given)):
        raise CertificateError(f"root {_named(facts, pair)} of parallel loops is missing")
    return whole(facts, roots)


def _named(facts: Facts, pair: tuple[int, ...]) -> str:
    known = dict(enumerate(facts.dims)) | {NONE: "none"}
    return "/".join(known.get(dim, f"({dim})") for dim in pair)


def read_block(stream: Stream, facts: Facts, count: int) -> Block:
    """Read the block of a list of so many boxes; numbers are checked for their ranges alone."""
    dims = len(facts.dims)
    given = int(stream.array(1, np.uint32)[0])
    if given != count:
        raise CertificateError(f"a list of {count:,} boxes has a block of {given:,}")
    boxes = np.arange(count)
    trims = stream.array(count, _UINT8)
    trimmed = np.repeat(boxes, trims)
    axes = stream.array(len(trimmed), _UINT8).astype(np.int64)
    from_below = axes >= _FROM_BELOW
    axes %= _FROM_BELOW
    ends = stream.array(len(trimmed), np.int32)
    require(axes <= 2 * dims, "is trimmed along no size", trimmed)
    actions = stream.array(count, _UINT8).astype(np.int64)
    split = actions != EVALUATE
    require(~split | (actions <= 2 * dims + 2), "is split by no axis", boxes)
    counts = np.zeros(count, dtype=np.int64)
    counts[split] = stream.array(int(split.sum()), _UINT8)
    parents = np.repeat(boxes, counts)
    values = stream.array(len(parents), np.int32)
    bits = stream.array((len(parents) + 7) // 8, _UINT8)
    goes_on = np.unpackbits(bits, count=len(parents)).astype(bool)
    return Block(trimmed, axes, from_below, ends, actions, counts, parents, values, goes_on)


def trims(boxes: Table, block: Block) -> Iterator[tuple[Rows, Rows, Table]]:
    """Trim boxes in place, one trim of each box after the other.

    Yields:
        Of one trim of each box that has so many: the rows of the boxes, the axes, and what is left
        out, before it is.
    """
    turns = np.arange(len(block.trimmed)) - np.searchsorted(block.trimmed, block.trimmed)
    for turn in range(turns.max(initial=-1) + 1):
        some = np.flatnonzero(turns == turn)
        rows, axes, below = block.trimmed[some], block.trim_axes[some], block.from_below[some]
        ends, each = block.trim_ends[some], np.arange(len(some))
        kept, away = boxes[rows], boxes[rows]
        begin, end = kept[each, first(axes)], kept[each, last(axes)]
        fine = np.where(below, ends <= end + 1, ends >= begin - 1)
        require(fine, "is trimmed beyond its range", rows)
        # Another trim may have left out as much.
        left = np.where(below, np.maximum(begin, ends), np.minimum(end, ends))
        kept[each, np.where(below, first(axes), last(axes))] = left
        away[each, np.where(below, last(axes), first(axes))] = ends - np.where(below, 1, -1)
        yield rows, axes, away
        tidy(kept)
        boxes[rows] = kept


def split(facts: Facts, boxes: Table, block: Block, some: slice) -> Table:
    """Return some of the parts of a block; the sizes of a box's parts must add up to its range."""
    dims, parents, values = len(facts.dims), block.parents[some], block.values[some]
    parts, axes = boxes[parents], block.actions[parents]
    loops = np.flatnonzero(axes > 2 * dims)
    parts[loops, INNERMOST + axes[loops] - 2 * dims - 1] = values[loops]
    sized = np.flatnonzero(axes <= 2 * dims)
    begin, end = (sized, first(axes[sized])), (sized, last(axes[sized]))
    parts[begin], parts[end] = _ranges(parents[sized], parts[begin], parts[end], values[sized])
    tidy(parts)
    return parts


def _ranges(
    parents: NDArray[np.int64], begin: Table, end: Table, lengths: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and last choices of parts, which lie one behind the other in a range."""
    # A box that stays as it is would let the stream go on for ever.
    alone = (parents != np.roll(parents, 1)) & (parents != np.roll(parents, -1))
    require(~alone & (len(parents) > 1), "is split into one part", parents)
    require(lengths >= 1, "has an empty part", parents)
    stops = np.cumsum(lengths, dtype=np.int64)
    starts = stops - lengths
    firsts = begin + starts - starts[np.searchsorted(parents, parents)]
    lasts = firsts + lengths - 1
    final = np.append(parents[1:] != parents[:-1], True)[: len(parents)]
    fine = np.where(final, lasts == end, lasts < end)
    require(fine, "has parts that do not add up to its range", parents)
    return firsts, lasts


def require(fine: Flags, problem: str, boxes: NDArray[np.int64]) -> None:
    """Raise an error that names the first of the boxes that is not fine."""
    wrong = np.flatnonzero(~fine)
    if len(wrong):
        raise CertificateError(f"box {int(boxes[wrong[0]])} {problem}")


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
