"""All different mappings of a restricted map space, as vectors.

Vectors that decode to the same mapping are listed once: inner tiles larger than the outer one are
clipped to it, so one of them stands for all. Where the model ignores loops of one step, so does one
mapping for those that differ from it in the place of such loops alone. A *frame* is a vector whose
orders are chosen last, by the loops that take more than one step.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.exhaustive.loop_steps import moving_loops
from experiments.exhaustive.order_classes import OrderClasses
from experiments.exhaustive.restriction import Choices
from experiments.flags import UsageError
from maestro_env.map_space import MapSpace, Points

_BATCH = 2**15
_MOST_IN_UNIT = 2**20
_SAMPLE = 2**15
_MOST_ENTRIES = 2**22


@dataclass(frozen=True, eq=False)
class Vectors:
    """Vectors of different mappings.

    Args:
        points: int32[N, D].
        weights: int64[N], how many mappings each stands for, itself included.
    """

    points: Points
    weights: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Digit:
    """Entries of a vector that are chosen together.

    Args:
        columns: where they stand.
        entries: int32[columns, n], what they can be.
    """

    columns: tuple[int, ...]
    entries: Points


class Enumeration:
    """The different mappings of a space, by frames that are numbered as odometers count.

    Args:
        space: whose mappings they are.
        choices: left to every parameter.
        ignores_still_loops: whether the place of loops of one step makes no difference.

    Raises:
        UsageError: a parameter with more choices than can be listed.

    Attributes:
        vectors: of the space.
        mappings: different ones they decode to.
        frames: of these mappings.
    """

    def __init__(
        self, space: MapSpace, choices: Sequence[Choices], ignores_still_loops: bool
    ) -> None:
        self._space = space
        names = [parameter.name for parameter in space.parameters]
        self._orders = [names.index(name) for name in ("l2_order", "l1_order")]
        self._classes: list[OrderClasses] = []
        left = list(choices)
        if ignores_still_loops and any(len(left[column]) > 1 for column in self._orders):
            self._classes = [OrderClasses.of(space, left[column]) for column in self._orders]
            for column in self._orders:
                left[column] = left[column][:1]
        self._digits = [_digit(space, left, columns) for columns in _joint(space)]
        self.vectors = math.prod(map(len, choices))
        self.frames: int = math.prod(each.entries.shape[1] for each in self._digits)
        merged = (len(choices[column]) // len(left[column]) for column in self._orders)
        self._mappings_of_frame = math.prod(merged)
        self.mappings = self.frames * self._mappings_of_frame
        orders = math.prod(int(each.counts.max()) for each in self._classes)
        self._step = min(_BATCH, max(_MOST_IN_UNIT // orders, 1))

    @property
    def units(self) -> int:
        """Number of units of work, which take a second or less."""
        return -(-self.frames // self._step)

    def unit(self, index: int) -> Points:
        """Return the frames of a unit."""
        start = index * self._step
        return self.at(np.arange(start, min(start + self._step, self.frames)))

    def mappings_before(self, unit: int) -> int:
        """Return how many mappings the units before one have."""
        return min(unit * self._step, self.frames) * self._mappings_of_frame

    def at(self, numbers: NDArray[np.int64]) -> Points:
        """Return the frames of these numbers."""
        frames = np.empty((len(numbers), len(self._space.parameters)), dtype=np.int32)
        for digit in reversed(self._digits):
            rest = numbers // digit.entries.shape[1]
            chosen = numbers - rest * digit.entries.shape[1]
            for column, entries in zip(digit.columns, digit.entries, strict=True):
                frames[:, column] = entries[chosen]
            numbers = rest
        return frames

    def count(self, frames: Points) -> int:
        """Return how many vectors the batches of frames have."""
        if not self._classes:
            return len(frames)
        masks = moving_loops(self._space, frames)
        outer, inner = (each.counts[mask] for each, mask in zip(self._classes, masks, strict=True))
        return int(np.dot(outer, inner))

    def size(self) -> int:
        """Return how many vectors there are; of many frames, by a sample of them."""
        numbers = np.arange(min(self.frames, _SAMPLE))
        if self.frames > _SAMPLE:
            numbers = np.random.default_rng(0).integers(self.frames, size=_SAMPLE)
        return self.count(self.at(numbers)) * self.frames // len(numbers)

    def batches(self, frames: Points) -> Iterator[Vectors]:
        """Yield the vectors of frames."""
        if self._classes and len(frames):
            yield from self._ordered(frames)
        elif len(frames):
            yield Vectors(frames, np.ones(len(frames), dtype=np.int64))

    def _ordered(self, frames: Points) -> Iterator[Vectors]:
        """Yield frames with every order of their moving loops."""
        outer, inner = self._classes
        outer_moving, inner_moving = moving_loops(self._space, frames)
        owners, ranks, weights = outer.pick(outer_moving)
        points, inner_moving = frames[owners], inner_moving[owners]
        points[:, self._orders[0]] = ranks
        batch = (np.cumsum(inner.counts[inner_moving]) - 1) // _BATCH
        for part in np.split(np.arange(len(points)), np.flatnonzero(np.diff(batch)) + 1):
            owners, ranks, inner_weights = inner.pick(inner_moving[part])
            rows = points[part][owners]
            rows[:, self._orders[1]] = ranks
            yield Vectors(rows, weights[part][owners] * inner_weights)


def _joint(space: MapSpace) -> Iterator[tuple[int, ...]]:
    """Yield the columns that are chosen together: an inner tile with its outer one."""
    inner = {outer: inner for inner, outer in space.clipped_columns}
    for column in range(len(space.parameters)):
        if column in inner:
            yield column, inner[column]
        elif column not in inner.values():
            yield (column,)


def _digit(space: MapSpace, left: Sequence[Choices], columns: tuple[int, ...]) -> _Digit:
    """Make the digit of columns that are chosen together.

    Raises:
        UsageError: it has more entries than can be listed.
    """
    names = [space.parameters[column].name for column in columns]
    for name, column in zip(names, columns, strict=True):
        _require_few(name, len(left[column]))
    outer, *inner = (np.array(left[column], dtype=np.int32) for column in columns)
    entries = _clipped(outer, inner[0], " with ".join(names)) if inner else outer[np.newaxis]
    return _Digit(columns, entries)


def _clipped(outer: Points, inner: Points, names: str) -> Points:
    """Return the different pairs of an outer choice and an inner one clipped to it, int32[2, n].

    Raises:
        UsageError: there are more than can be listed.
    """
    smaller = np.searchsorted(inner, outer)
    counts = smaller + (smaller < len(inner))
    _require_few(names, int(counts.sum()))
    owners = np.repeat(np.arange(len(outer)), counts)
    place = np.arange(len(owners)) - (np.cumsum(counts) - counts)[owners]
    # What is not smaller is equal or clipped, the same either way.
    chosen = np.append(inner, 0)[place]
    return np.stack([outer[owners], np.where(place < smaller[owners], chosen, outer[owners])])


def _require_few(what: str, choices: int) -> None:
    if choices > _MOST_ENTRIES:
        raise UsageError(
            f"{what}: {choices:,} choices; allowed: {_MOST_ENTRIES:,}: --fix some, or take "
            "--tiles divisors"
        )
