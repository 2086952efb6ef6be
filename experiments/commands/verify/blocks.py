"""The blocks of a certificate: what becomes of each box of a list (docs/optimum.md, 9)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.commands.verify.boxes import (
    NONE,
    OUTER_INNERMOST,
    Table,
    equivalent,
    first,
    last,
    tidy,
    whole,
)
from experiments.commands.verify.facts import Facts
from experiments.commands.verify.stream import CertificateError, Stream

EVALUATE = 255
_UINT8 = np.uint8


@dataclass(frozen=True)
class Block:
    """A block.

    Attributes:
        trimmed: int64[T], the box of each trim.
        trim_axes: uint8[T].
        trim_lasts: int32[T], the last choices that are left.
        actions: uint8[N], the axis each box is split by, or ``EVALUATE``.
        parts: int64[N], number of parts of each box.
        values: int32[P], choices of each part, or its innermost loop.
        goes_on: bool[P].
    """

    trimmed: NDArray[np.int64]
    trim_axes: NDArray[np.uint8]
    trim_lasts: NDArray[np.int32]
    actions: NDArray[np.uint8]
    parts: NDArray[np.int64]
    values: NDArray[np.int32]
    goes_on: NDArray[np.bool_]


def read_roots(stream: Stream, facts: Facts) -> Table:
    """Read the first boxes, which must cover all pairs of parallel dimensions."""
    count = int(stream.array(1, _UINT8)[0])
    roots = stream.array(2 * count, np.int8).reshape(-1, 2)
    dims = [facts.dims.index(dim) for dim in facts.space.parallel_dims]
    offered = {equivalent(facts, dim) for dim in dims}
    needed = {(outer, inner) for outer in offered for inner in offered}
    given = [tuple(pair) for pair in roots.tolist()]
    for pair in given:
        if pair not in needed:
            raise CertificateError(f"root {_named(facts, pair)} is no pair of parallel loops")
        if given.count(pair) > 1:
            raise CertificateError(f"root {_named(facts, pair)} is there twice")
    for pair in sorted(needed - set(given)):
        raise CertificateError(f"root {_named(facts, pair)} of parallel loops is missing")
    return whole(facts, roots)


def _named(facts: Facts, pair: tuple[int, ...]) -> str:
    names = [facts.dims[dim] if 0 <= dim < len(facts.dims) else f"({dim})" for dim in pair]
    return "/".join("none" if dim == NONE else name for dim, name in zip(pair, names, strict=True))


def read_block(stream: Stream, facts: Facts, count: int) -> Block:
    """Read the block of a list of so many boxes; numbers are checked for their ranges alone."""
    dims = len(facts.dims)
    given = int(stream.array(1, np.uint32)[0])
    if given != count:
        raise CertificateError(f"a list of {count:,} boxes has a block of {given:,}")
    trims = stream.array(count, _UINT8).astype(np.int64)
    _require(trims <= 2 * dims, "has more trims than tiles")
    total = int(trims.sum())
    axes, lasts = stream.array(total, _UINT8), stream.array(total, np.int32)
    trimmed = np.repeat(np.arange(count), trims)
    _require(axes < 2 * dims, "is trimmed along no tile", trimmed)
    actions = stream.array(count, _UINT8)
    split = actions != EVALUATE
    _require(~split | (actions <= 2 * dims + 2), "is split by no axis")
    parts = np.zeros(count, dtype=np.int64)
    parts[split] = stream.array(int(split.sum()), _UINT8)
    total = int(parts.sum())
    values = stream.array(total, np.int32)
    bits = stream.array((total + 7) // 8, _UINT8)
    goes_on = np.unpackbits(bits, count=total).astype(bool)
    return Block(trimmed, axes, lasts, actions, parts, values, goes_on)


def trim(boxes: Table, block: Block) -> tuple[Table, Table]:
    """Return boxes without what is trimmed away, and the boxes that are trimmed away."""
    rows = np.arange(len(block.trimmed))
    axes = block.trim_axes.astype(np.int64)
    old = boxes[block.trimmed]
    lasts = block.trim_lasts
    fine = (lasts >= old[rows, first(axes)] - 1) & (lasts <= old[rows, last(axes)])
    _require(fine, "is trimmed beyond its range", block.trimmed)
    away = old.copy()
    away[rows, first(axes)] = lasts + 1
    trimmed = boxes.copy()
    np.minimum.at(trimmed, (block.trimmed, last(axes)), lasts)
    tidy(trimmed)
    return trimmed, away


def split(
    boxes: Table,
    actions: NDArray[np.uint8],
    counts: NDArray[np.int64],
    values: NDArray[np.int32],
    dims: int,
    start: int,
) -> tuple[Table, NDArray[np.int64]]:
    """Return the parts of boxes, and the number of each part's box.

    The sizes of the parts must add up to their range.

    Args:
        boxes: some of a block, from the box ``start`` on.
        actions: their axes.
        counts: of their parts.
        values: of these parts.
        dims: of the space.
        start: number of the first box.
    """
    parents = np.repeat(np.arange(len(boxes)), counts)
    axes = actions.astype(np.int64)[parents]
    parts = boxes[parents]
    sized = np.flatnonzero(axes <= 2 * dims)
    _split_sizes(parts, parents, axes, values, sized, start)
    levels = np.flatnonzero(axes > 2 * dims)
    parts[levels, OUTER_INNERMOST + axes[levels] - 2 * dims - 1] = values[levels]
    tidy(parts)
    return parts, parents + start


def _split_sizes(
    parts: Table,
    parents: NDArray[np.int64],
    axes: NDArray[np.int64],
    values: NDArray[np.int32],
    sized: NDArray[np.int64],
    start: int,
) -> None:
    """Give the parts that are split by sizes their ranges, one behind the other."""
    lengths = values[sized].astype(np.int64)
    owners, columns = parents[sized], axes[sized]
    # A box that stays as it is would let the stream go on for ever.
    alone = (owners != np.roll(owners, 1)) & (owners != np.roll(owners, -1))
    alone |= len(owners) == 1
    _require(~alone, "is split into one part", owners + start)
    _require(lengths >= 1, "has an empty part", owners + start)
    stops = np.cumsum(lengths)
    begins = np.searchsorted(owners, owners)
    before = stops[begins] - lengths[begins] if len(sized) else stops
    firsts = parts[sized, first(columns)] + stops - lengths - before
    lasts = firsts + lengths - 1
    ends = parts[sized, last(columns)].astype(np.int64)
    final = np.append(owners[1:] != owners[:-1], True)[: len(owners)]
    fine = np.where(final, lasts == ends, lasts < ends)
    _require(fine, "has parts that do not add up to its range", owners + start)
    parts[sized, first(columns)] = firsts
    parts[sized, last(columns)] = lasts


def _require(fine: NDArray[np.bool_], problem: str, boxes: NDArray[np.int64] | None = None) -> None:
    """Raise an error that names the first box that is not fine."""
    wrong = np.flatnonzero(~fine)
    if len(wrong):
        box = int(wrong[0] if boxes is None else boxes[wrong[0]])
        raise CertificateError(f"box {box} {problem}")
