"""What words cost that move, and how dimensions are cut, at least."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maestro_env.experiments.commands.verify.memories.facts import (
    INPUT,
    LACKING,
    MOVING,
    OUTPUT,
    SHARING,
    WINDOWS,
    C,
    Facts,
    G,
    K,
    N,
    Numbers,
    R,
    S,
    Tuples,
    Units,
    least_tail,
    touched,
)
from maestro_env.experiments.commands.verify.memories.resting import share_resting


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be least, of which mappings.

    Args:
        units: at work.
        prices: of an access of each kind, and of words in gaps, float64[B, 6].
        steps: of a step of each element.
        fills, drains: of a cycle of the first fill of each element, and of its last drain.
        refill: of a cycle of those that further outputs wait for.
        exposed_cycles: of one memory's first fills and last drain at most.
        cycles: of all pauses of one memory at most.
    """

    units: Units
    prices: Numbers
    steps: list[float]
    fills: list[float]
    drains: list[float]
    refill: float
    exposed_cycles: float
    cycles: float


class Charges:
    """What words that move cost, given the units at work."""

    def __init__(self, facts: Facts, task: Task) -> None:
        self._facts, self._prices, self.units = facts, task.prices, task.units
        self.gap = float(task.prices[:, 5].sum())

    def together(self, fanout: int, tensor: int) -> bool:
        return bool(self._facts.elements[fanout]["together"][tensor])

    def price(self, boundary: int, parents: Numbers, children: Numbers) -> Numbers:
        """Return the cost of words of parents and children (H4)."""
        reads, writes, drains, fills, carried, _ = self._prices[boundary]
        if self._facts.boundaries[boundary][0] != OUTPUT:
            moved: Numbers = parents * reads + children * (fills + carried)
            return moved
        older = np.maximum(0.0, parents - self._fresh(boundary))
        back = children * older / parents
        own, again = drains + carried, fills + carried
        found: Numbers = parents * writes + older * reads + children * own + back * again
        return found

    def price_of_more(self, boundary: int, parents: Numbers, children: Numbers) -> Numbers:
        """Return what more words cost than those that move once, at least.

        Of outputs that come back there are as many more, if those that move once are as many as
        can arrive without an older value: children get no fewer words than parents.
        """
        reads, writes, drains, fills, carried, _ = self._prices[boundary]
        if self._facts.boundaries[boundary][0] != OUTPUT:
            moved: Numbers = parents * reads + children * (fills + carried)
            return moved
        found: Numbers = parents * writes + children * (drains + carried)
        if self.least(boundary)[0] >= self._fresh(boundary):
            found = found + parents * reads + np.minimum(parents, children) * (fills + carried)
        return found

    def _fresh(self, boundary: int) -> float:
        """Return how many arrivals of outputs find no older value, at most."""
        parent, fresh = self._facts.boundaries[boundary][1], float(self._facts.words[OUTPUT])
        for dim in (C, R, S):
            units = [int(self.units.most[f, dim]) for f in self._facts.fanouts if f < parent]
            fresh *= min(math.prod(units), self._facts.extents[dim])
        return fresh

    def least(self, boundary: int) -> tuple[float, float]:
        """Return the words of parents and children if each unit gets its words once (P12)."""
        tensor, parent, child = self._facts.boundaries[boundary]
        below = [f for f in self._facts.fanouts if f < child]
        apart = [f for f in below if f < parent or not self.together(f, tensor)]
        fewest, least = (
            math.prod(at_work(self.units.least[each, dim].tolist()) for dim in LACKING[tensor])
            for each in (apart, below)
        )
        words = float(self._facts.words[tensor])
        return words * fewest, words * least

    def once(self, boundary: int) -> float:
        """Return the cost of a boundary whose words move once."""
        found = float(self.price(boundary, *map(np.array, self.least(boundary))))
        one = np.ones(1)
        gaps = float(self.between(one, one)[0]) if self._facts.has_gaps(boundary) else 0.0
        return found + self.gap * gaps

    def between(self, *pieces: Numbers) -> Numbers:
        """Return the words in gaps of inputs in at most so many pieces along each axis (P13)."""
        facts = self._facts
        words = np.array(float(math.prod(facts.extents[dim] for dim in (N, G, C))))
        for axis, (out, tap) in enumerate(WINDOWS):
            stride, taps = facts.stride[axis], facts.extents[tap]
            if taps > stride or facts.dilation[axis] > 1:
                return 0 * pieces[0]
            words = words * (facts.extents[out] * stride - pieces[axis] * (stride - taps))
        return words - facts.words[INPUT]

    def at_mac(self, whole: Collection[int]) -> float:
        """Return the cost of what the MACs take and give (P7)."""
        facts, total = self._facts, 0.0
        for b, (tensor, parent, child) in enumerate(facts.boundaries):
            if child < len(facts.elements):
                continue
            if facts.mac["latch"][tensor]:
                total += self.once(b)
                continue
            macs = np.array(float(facts.macs))
            total += float(self.price(b, np.array(self._at_steps(tensor, parent, whole)), macs))
        return total

    def _at_steps(self, tensor: int, parent: int, whole: Collection[int]) -> float:
        """Return the words that MACs share with a parent: of a word, its units share a step."""
        facts = self._facts
        fanouts = [f for f in facts.fanouts if f >= parent and self.together(f, tensor)]
        units = [
            min(facts.extents[dim], math.prod(int(self.units.most[f, dim]) for f in fanouts))
            for dim in range(8)
        ]
        words = float(facts.macs)
        for dim in LACKING[tensor]:
            steps = boxes(facts, 1, dim, units[dim], self.units)
            if dim in whole and facts.fanouts[0] not in fanouts:
                steps = max(steps, self._steps_of_shares(dim, units[dim]))
            words *= steps / facts.extents[dim]
        for axis, (out, tap) in enumerate(WINDOWS if tensor == INPUT else ()):
            rows = touched(units[out], units[tap], facts.stride[axis], facts.dilation[axis])
            words *= rows / (units[out] * units[tap])
        most = math.prod(float(self.units.sharing[f, tensor]) for f in fanouts)
        return max(words, facts.macs / most)

    def _steps_of_shares(self, dim: int, macs: int) -> int:
        """Return the steps of a whole dimension that the outermost fan-out shares equally."""
        extent, fanout = self._facts.extents[dim], self._facts.fanouts[0]
        least, most = int(self.units.least[fanout, dim]), int(self.units.most[fanout, dim])
        share = -(-extent // most)
        if least != most:
            return -(-extent // macs)
        return extent // share * -(-share // macs) + -(-(extent % share) // macs)


def along(dim: int, values: NDArray[Any]) -> Numbers:
    """Return values of a dimension's classes as an array that broadcasts over tables."""
    shape = [1] * 8
    shape[dim] = -1
    return np.asarray(values, dtype=np.float64).reshape(shape)


class MovedWords:
    """What words cost that loops of a memory move, by the classes of tiles that they make.

    Args:
        facts: of the layer on the accelerator.
        classes: the least and the most tile of each, by dimension.
        charges: of the units at work.
    """

    def __init__(self, facts: Facts, classes: list[Tuples], charges: Charges) -> None:
        self._facts, self._classes, self._charges = facts, classes, charges
        self.rests = cache(self._rests)
        self.closed = cache(self._closed)
        self.later = cache(self._later)

    def _rests(self, tensor: int, memory: int) -> float:
        """Return the share of words at most that lie in pieces that loops do not cut (P9)."""
        return max(
            share_resting(self._facts, memory, dim, self._charges.units, int(least), int(most))
            for dim in MOVING[tensor]
            for least, most in self._classes[dim]
        )

    def _closed(self, boundary: int, memory: int) -> Numbers:
        """Return what a boundary costs that loops close, if what rests moves once."""
        facts, charges = self._facts, self._charges
        fewest, least = charges.least(boundary)
        parents, children, sweeps = self._moved(boundary, memory)
        rest = self.rests(facts.boundaries[boundary][0], memory)
        price = charges.price(
            boundary, parents + rest * (fewest - parents), children + rest * (least - children)
        )
        if not facts.has_gaps(boundary):
            return price
        pieces = (
            along(out, np.ceil(facts.extents[out] / self._classes[out][:, 0])) for out, _ in WINDOWS
        )
        return price + charges.gap * along(K, sweeps) * charges.between(*pieces)

    def _later(self, boundary: int, memory: int) -> Numbers:
        """Return what words that are moved here, and not inside, cost beyond moving once."""
        parents, children, _ = self._moved(boundary, memory, halos=False)
        fewest, least = self._charges.least(boundary)
        return self._charges.price_of_more(boundary, parents - fewest, children - least)

    def _moved(
        self, boundary: int, memory: int, halos: bool = True
    ) -> tuple[Numbers, Numbers, Numbers]:
        """Return words of parents and of children, if all move, and the chunks of K of parents.

        ``halos``: with rows that tiles share, at each tile.
        """
        facts, charges = self._facts, self._charges
        units = charges.units
        tensor, parent, child = facts.boundaries[boundary]
        between = [f for f in facts.fanouts if memory <= f < child]
        apart = [f for f in between if f < parent or not charges.together(f, tensor)]
        above = [f for f in facts.fanouts if parent <= f < memory and charges.together(f, tensor)]
        chunks: list[list[Numbers]] = [[], [], []]
        for dim, bounds in enumerate(self._classes):
            below, alone = (
                at_work([int(units.least[f, dim]) for f in each]) for each in (between, apart)
            )
            sharers = min(facts.extents[dim], math.prod(int(units.most[f, dim]) for f in above))
            children, single = (
                np.array(
                    [
                        boxes(facts, memory, dim, -(-int(most) // each), units)
                        for most in bounds[:, 1]
                    ],
                    dtype=float,
                )
                for each in (below, alone)
            )
            for kind, values in enumerate((np.ceil(single / sharers), children, single)):
                chunks[kind].append(values)
        words, (fewest, least) = float(facts.words[tensor]), charges.least(boundary)
        if tensor == INPUT:
            planes = facts.extents[N] * facts.extents[G] * facts.extents[C]
            parents, childs = (planes * self._windows(chunks[kind], halos) for kind in (0, 1))
        else:
            parents, childs, lone = (_product(chunks[kind], tensor) for kind in range(3))
            together = math.prod(float(units.sharing[f, tensor]) for f in above)
            parents = np.maximum(words * parents, words / together * lone)
            childs = words * childs
        return np.maximum(parents, fewest), np.maximum(childs, least), chunks[0][K]

    def _windows(self, chunks: list[Numbers], halos: bool) -> Numbers:
        """Return the words of one plane of inputs that moves, as often as filters do (P8)."""
        distinct, fetched, kept, whole = [], [], [], []
        for axis, (out, tap) in enumerate(WINDOWS):
            outputs, taps = self._facts.extents[out], self._facts.extents[tap]
            stride, dilation = self._facts.stride[axis], self._facts.dilation[axis]
            tiles, cut = along(out, chunks[out]), self._classes[tap][:, 1]
            rows = float(touched(outputs, taps, stride, dilation))
            each = rows + 0 * tiles + 0 * along(tap, cut)
            if dilation == 1:
                more = [
                    min(stride, taps) if z >= taps else -(-taps * min(stride, z) // z)
                    for z in map(int, cut)
                ]
                step = along(tap, np.array(more))
                each = np.maximum(rows, outputs * step + tiles * (taps - step))
            overlap = max(0, (taps - 1) * dilation + 1 - stride)
            distinct.append(rows)
            fetched.append(each)
            kept.append(np.where(tiles > 1, overlap, 0.0))
            whole.append(along(tap, cut >= taps) > 0)
        left = [np.maximum(0.0, rows - each) for rows, each in zip(distinct, kept, strict=True)]
        words = np.minimum(left[0] * distinct[1], distinct[0] * left[1])
        better = np.maximum(words, np.minimum(left[0] * fetched[1], left[1] * fetched[0]))
        return along(K, chunks[K]) * np.where(halos & whole[0] & whole[1], better, words)


def _product(chunks: list[Numbers], tensor: int) -> Numbers:
    found = np.ones((1,) * 8)
    for dim in SHARING[tensor]:
        found = found * along(dim, chunks[dim])
    return found


def boxes(facts: Facts, memory: int, dim: int, tile: int, units: Units) -> int:
    """Return how many boxes a chain of cuts makes at least that ends in some tiles (P2)."""
    extent, (least, most) = facts.extents[dim], units.outer[dim]
    every = -(-extent // tile)
    if memory == 0:
        return every
    whole = -(-extent // most) - 1
    return max(every, whole * -(-least // tile) + -(-least_tail(extent, least, most) // tile))


def at_work(units: list[int]) -> int:
    """Return how many units of nested fan-outs work at least: the last share may have but one."""
    found = 1
    for each in reversed(units):
        found = found if each == 1 else (each - 1) * found + 1
    return found
