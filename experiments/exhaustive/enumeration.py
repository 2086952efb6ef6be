"""All different mappings of a restricted map space, as vectors.

Vectors that decode to the same mapping are listed once: an inner tile larger than the outer one is
clipped to it. If the model ignores loops of one step, one mapping stands for all that differ from
it in the place of such loops alone. A *frame* is a vector whose orders are left to be chosen, by
the loops that take more than one step; under other models a frame is simply a vector.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from experiments.exhaustive.restriction import Choices
from experiments.flags import UsageError
from experiments.loop_steps import Integers, moving_loops
from maestro_env.map_space import MapSpace, Points
from mappers.choices import orders_of

_BATCH = 2**15
_MOST_IN_UNIT = 2**20
_SAMPLE = 2**15
_MOST_ENTRIES = 2**22


class Enumeration:
    """The different mappings of a space, by numbered frames.

    Args:
        space: of the mappings.
        choices: left to every parameter.
        ignores_still_loops: whether the place of loops of one step makes no difference.

    Attributes:
        vectors: number of vectors in the space.
        mappings: number of different mappings they decode to.
        frames: number of frames of these mappings.
        mappings_of_frame: number of mappings of each.
        units: number of units of work, of about a second or less each.
    """

    def __init__(
        self, space: MapSpace, choices: Sequence[Choices], ignores_still_loops: bool
    ) -> None:
        self._space = space
        # Columns of the orders that are chosen after the frame, L2 and L1, and their classes.
        self._orders = {
            column: _OrderClasses(space, choices[column])
            for column, parameter in enumerate(space.parameters)
            if ignores_still_loops and parameter.kind == "order"
        }
        left = [each[:1] if i in self._orders else each for i, each in enumerate(choices)]
        self._digits = list(_digits(space, left))
        self._shape = [len(entries) for _, entries in self._digits]
        self.vectors = math.prod(map(len, choices))
        self.frames = math.prod(self._shape)
        self.mappings_of_frame = math.prod(len(choices[column]) for column in self._orders)
        self.mappings = self.frames * self.mappings_of_frame
        most_orders = math.prod(int(each.counts.max()) for each in self._orders.values())
        self._step = min(_BATCH, max(_MOST_IN_UNIT // most_orders, 1))
        self.units = -(-self.frames // self._step)

    def unit(self, index: int) -> Points:
        """Return the frames of a unit."""
        start = index * self._step
        return self.at(np.arange(start, min(start + self._step, self.frames)))

    def at(self, numbers: Integers) -> Points:
        """Return the frames with these numbers."""
        frames = np.empty((len(numbers), len(self._space.parameters)), dtype=np.int32)
        places = np.unravel_index(numbers, self._shape)
        for (columns, entries), place in zip(self._digits, places, strict=True):
            frames[:, columns] = entries[place]
        return frames

    def size(self) -> int:
        """Return how many vectors the batches have; of many frames, estimate it by a sample."""
        numbers = np.arange(min(self.frames, _SAMPLE))
        if self.frames > _SAMPLE:
            numbers = np.random.default_rng(0).integers(self.frames, size=_SAMPLE)
        _, counts = self._moving(self.at(numbers))
        return int(counts.sum()) * self.frames // len(numbers)

    def batches(self, frames: Points) -> Iterator[tuple[Points, Integers]]:
        """Yield vectors of frames, and how many mappings each one stands for, itself included.

        Args:
            frames: int32[N, D]; every order that the model tells apart is listed for each.
        """
        moving, counts = self._moving(frames)
        batch = (np.cumsum(counts) - counts) // _BATCH
        for part in np.split(np.arange(len(frames)), np.flatnonzero(np.diff(batch)) + 1):
            owners, points, weights = part, frames[part], np.ones(len(part), dtype=np.int64)
            for column, classes in self._orders.items():
                places, ranks, sizes = classes.pick(moving[column][owners])
                owners, points, weights = owners[places], points[places], weights[places] * sizes
                points[:, column] = ranks
            yield points, weights

    def _moving(self, frames: Points) -> tuple[dict[int, Integers], Integers]:
        """Return the masks of moving loops by column of the order, and the vectors per frame."""
        counts = np.ones(len(frames), dtype=np.int64)
        masks = moving_loops(self._space, frames) if self._orders else ()
        for classes, moving in zip(self._orders.values(), masks, strict=True):
            counts *= classes.counts[moving]
        return dict(zip(self._orders, masks, strict=True)), counts


class _OrderClasses:
    """The orders of a level in classes that cost the same, for every mask of moving loops.

    Args:
        space: with d dimensions; bit i of a mask says whether the loop over the i-th moves.
        choices: the orders that are left.

    Attributes:
        counts: int64[2^d], classes of every mask.
    """

    def __init__(self, space: MapSpace, choices: Choices) -> None:
        d, listed = len(space.extents), np.array(choices, dtype=np.int64)
        # Loops that no mapping cuts never move.
        cut = [
            any(space.tile(level, dim) != extent for level in ("l2", "l1"))
            for dim, extent in space.extents.items()
        ]
        masks = np.arange(2**d)[:, np.newaxis]
        moves = (masks >> np.arange(d) & cut).astype(bool)
        # A number in base d for every mask and order: the moving loops, as they are nested.
        numbers = np.zeros((len(masks), len(listed)), dtype=np.int64)
        for dims in orders_of(listed, d).T:
            numbers = np.where(moves[:, dims], numbers * d + dims, numbers)
        _, first, self._sizes = np.unique(
            masks * d**d + numbers, return_index=True, return_counts=True
        )
        owners, places = np.divmod(first, len(listed))
        self.counts = np.bincount(owners)
        self._starts = np.cumsum(self.counts) - self.counts
        self._ranks = listed[places]

    def pick(self, masks: Integers) -> tuple[Integers, Integers, Integers]:
        """Return the first order of every class of each mask, mask after mask.

        Returns:
            The index of its mask, its rank, and the number of orders in its class; int64[M] each.
        """
        owners, places = _spread(self.counts[masks])
        picked = self._starts[masks][owners] + places
        return owners, self._ranks[picked], self._sizes[picked]


def _digits(space: MapSpace, left: Sequence[Choices]) -> Iterator[tuple[list[int], Points]]:
    """Yield columns that are filled together, and all their entries, int32[n, columns].

    These are an outer tile and an inner one clipped to it, or any other parameter alone.
    """
    names = [parameter.name for parameter in space.parameters]
    for name, choices in zip(names, left, strict=True):
        _require_few(name, len(choices))
    entries = [np.array(choices, dtype=np.int32) for choices in left]
    pairs = {outer: inner for inner, outer in space.clipped_columns}
    for column, outer in enumerate(entries):
        if column in pairs:
            inner = entries[pairs[column]]
            # All inner tiles below the outer one, and one that is equal to it or clipped.
            counts = np.minimum(np.searchsorted(inner, outer) + 1, len(inner))
            _require_few(f"{names[column]} with {names[pairs[column]]}", int(counts.sum()))
            owners, places = _spread(counts)
            joined = np.stack([outer[owners], np.minimum(inner[places], outer[owners])], axis=1)
            yield [column, pairs[column]], joined
        elif column not in pairs.values():
            yield [column], outer[:, np.newaxis]


def _require_few(what: str, choices: int) -> None:
    if choices > _MOST_ENTRIES:
        raise UsageError(
            f"{what}: {choices:,} choices; allowed: {_MOST_ENTRIES:,}: --fix some, or take "
            "--tiles divisors"
        )


def _spread(counts: Integers) -> tuple[Integers, Integers]:
    """Return the owner of each item, and its place among the owner's, if i owns counts[i]."""
    owners = np.repeat(np.arange(len(counts)), counts)
    return owners, np.arange(len(owners)) - (np.cumsum(counts) - counts)[owners]
