"""The least cost over all tiles and orders, relaxed, in NumPy (docs/optimum_memories.md).

Tables have an axis for each dimension, with the classes of tiles that an element gets.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maestro_env.accelerators.loop_rules import DIMS
from maestro_env.base.checks import MAX_INT
from maestro_env.experiments.commands.verify.memories.charges import (
    Charges,
    Task,
    at_work,
    boxes,
    least_tail,
    share_resting,
)
from maestro_env.experiments.commands.verify.memories.facts import (
    FILTER,
    INPUT,
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
    touched,
)

_MANY_UNITS = 64

Open = frozenset[int]
"""Boundaries that no loop has closed yet."""


def classes(extent: int, ratio: float, outer: tuple[int, int]) -> list[tuple[int, int]]:
    """Return sizes of tiles that make nearly as many chunks: the least and the most of each.

    No class has tiles of the first memory, which lie between ``outer``, and others.
    """
    found: list[tuple[int, int]] = []
    ends = outer[0] - 1, outer[1]
    size = 1
    while size <= extent:
        chunks = -(-extent // size)
        last = extent if chunks == 1 else (extent - 1) // (chunks - 1)
        last = min(last, *(end for end in ends if size <= end), extent)
        joins = found and last < extent and found[-1][1] not in ends
        if joins and -(-extent // found[-1][0]) <= ratio * chunks:
            found[-1] = found[-1][0], last
        else:
            found.append((size, last))
        size = last + 1
    return found


class Program:
    """The relaxed program with some classes of tiles, the first memory's between some sizes."""

    def __init__(self, facts: Facts, ratio: float, outer: Sequence[tuple[int, int]]) -> None:
        self._facts = facts
        self._classes = [
            np.array(classes(extent, ratio, tiles))
            for extent, tiles in zip(facts.extents, outer, strict=True)
        ]
        self._shape = tuple(map(len, self._classes))
        self.states = math.prod(self._shape)

    def _along(self, dim: int, values: NDArray[Any]) -> Numbers:
        """Return values of a dimension's classes as an array that broadcasts over tables."""
        shape = [1] * 8
        shape[dim] = -1
        return np.asarray(values, dtype=np.float64).reshape(shape)

    def least(self, task: Task) -> float:
        """Return what no mapping costs less than; infinite if there is none."""
        facts = self._facts
        tables: dict[Open, Numbers] = {frozenset(): np.zeros(self._shape)}
        innermost = len(facts.elements) - 1
        for element in range(innermost, -1, -1):
            if not facts.is_memory(element):
                tables = {
                    open_: self._shared(each, element, task) for open_, each in tables.items()
                }
                if element == facts.fanouts[0]:
                    macs = self._macs(Charges(facts, task))
                    tables = {open_: each + macs for open_, each in tables.items()}
                continue
            if element == 0 < innermost:
                allowed = self._outer(task)
                tables = {open_: np.where(allowed, each, np.inf) for open_, each in tables.items()}
            if element < innermost:
                tables = self._closed_by_taps(tables, element, task)
                tables = self._closed(tables, element, task)
            if element:
                tables = self._entered(tables, element, task)
        charges = Charges(facts, task)
        whole = (-1,) * 8
        ends = [
            float(table[whole]) + sum(charges.once(b) for b in open_)
            for open_, table in tables.items()
        ]
        return min(ends) + (0.0 if facts.fanouts else charges.at_mac(()))

    def _macs(self, charges: Charges) -> Numbers:
        """Return what MACs move, by the dimensions that the outermost fan-out gets whole (P7)."""
        found = np.empty(self._shape)
        for ends in product((False, True), repeat=8):
            place = tuple(slice(-1, None) if end else slice(0, -1) for end in ends)
            if found[place].size:
                whole = [dim for dim, end in enumerate(ends) if end]
                found[place] = charges.at_mac(whole)
        return found

    # ---- Memories -------------------------------------------------------------------------------

    def _outer(self, task: Task) -> NDArray[np.bool_]:
        """Say which tiles the first memory's loops may leave."""
        found = np.ones((1,) * 8)
        for dim, (least, most) in enumerate(task.units.outer):
            bounds = self._classes[dim]
            found = found * self._along(dim, (bounds[:, 1] >= least) & (bounds[:, 0] <= most))
        return np.asarray(found > 0, dtype=np.bool_)

    def _closed_by_taps(
        self, tables: dict[Open, Numbers], memory: int, task: Task
    ) -> dict[Open, Numbers]:
        """Loops of taps, innermost, move filters alone."""
        taps = self._facts.loops(memory) & {R, S}
        if self._facts.extents[R] * self._facts.extents[S] == 1 or not taps:
            return tables
        found = dict(tables)
        for open_, table in tables.items():
            filters = {b for b in open_ if self._facts.boundaries[b][0] == FILTER}
            moved = _swept(self._charged(table, filters, memory, task), taps)
            _lower(found, open_ - filters, moved)
        return found

    def _closed(self, tables: dict[Open, Numbers], memory: int, task: Task) -> dict[Open, Numbers]:
        """No loop; or loops that one tensor rests in; or then others, which close all."""
        loops = self._facts.loops(memory)
        found: dict[Open, Numbers] = {}
        for open_, table in tables.items():
            _lower(found, open_, table if open_ else _swept(table, loops))
            for tensor in (INPUT, FILTER, OUTPUT):
                own = frozenset(b for b in open_ if self._facts.boundaries[b][0] == tensor)
                if not own:
                    continue
                moved = self._charged(table, open_ - own, memory, task)
                moved = _swept(moved, loops - MOVING[tensor])
                _lower(found, own, moved)
                moved = self._charged(moved, own, memory, task)
                _lower(found, frozenset(), _swept(moved, loops & MOVING[tensor]))
        return found

    def _charged(self, table: Numbers, closing: Iterable[int], memory: int, task: Task) -> Numbers:
        charges = Charges(self._facts, task)
        for b in closing:
            table = table + self._charge(b, memory, charges)
        return table

    def _entered(self, tables: dict[Open, Numbers], memory: int, task: Task) -> dict[Open, Numbers]:
        """Tiles need room and time to be filled; boundaries of the memory open."""
        facts, own = self._facts, self._facts.elements[memory]
        capacity = facts.elements[own["pool"]]["capacity"]
        steps = np.ones(self._shape)
        outputs, fits = steps, np.ones(self._shape, dtype=bool)
        tiles: list[Tuples] = []
        last = steps
        for dim in range(8):
            least, most = self._sizes(dim, memory, task)
            chunks = self._along(dim, np.ceil(facts.extents[dim] / most))
            steps = steps * chunks
            if dim in MOVING[OUTPUT]:
                outputs = outputs * chunks
                last = last * self._along(dim, self._least_last(dim, least, task))
            allowed = np.minimum(most, facts.rules[memory].tiles.get(DIMS[dim], MAX_INT))
            fits = fits & (self._along(dim, least <= allowed) > 0)
            tiles.append(least)
        bits, cycles = np.zeros(self._shape), self._gaps(tiles) * facts.exposed[memory, 3]
        for tensor in (INPUT, FILTER, OUTPUT):
            if own["keeps"][tensor]:
                words = self._words(tensor, tiles)
                size = words * (own["width"][tensor] * own["buffers"])
                fits, bits = fits & (size <= capacity[tensor]), bits + size
                cycles = cycles + (words * facts.exposed[memory, tensor] if tensor != OUTPUT else 0)
        again = facts.elements[0]["refill"] * (outputs - 1) if memory == 1 else 0.0
        at_work = math.prod(
            min(float(task.units.most[f].prod(dtype=np.float64)), facts.elements[f]["size"])
            for f in facts.fanouts
            if f < memory
        )
        steps = np.ceil(steps / at_work)
        drain = last * facts.exposed[memory, OUTPUT]
        fits = fits & (bits <= capacity[3])
        fits = fits & (cycles * (1 + again) + drain <= task.exposed_cycles)
        fits = fits & (steps * own["step_cycles"] <= task.cycles)
        edges = cycles * (task.fills[memory] + task.refill * again) + drain * task.drains[memory]
        more = np.where(fits, edges + steps * task.steps[memory], np.inf)
        opened = {b for b, (_, _, child) in enumerate(facts.boundaries) if child == memory}
        found: dict[Open, Numbers] = {}
        for open_, table in tables.items():
            _lower(found, open_ | opened, table + more)
        return found

    def _sizes(self, dim: int, memory: int, task: Task) -> tuple[Tuples, Tuples]:
        """Return the least and the most of each class that a memory may get.

        All units inside work (P6), and what the first memory's loops leave is of the box.
        """
        inside = [int(task.units.least[f, dim]) for f in self._facts.fanouts if f > memory]
        low, high = task.units.outer[dim]
        least = max(at_work(inside), low if memory == 1 else 1)
        bounds = self._classes[dim]
        return np.maximum(bounds[:, 0], least), np.minimum(bounds[:, 1], high)

    def _least_last(self, dim: int, tiles: Tuples, task: Task) -> Tuples:
        """Return the last tile of memories that get so much at least."""
        extent, (least, most) = self._facts.extents[dim], task.units.outer[dim]
        tail = np.where(tiles >= most, least_tail(extent, least, most), 1)
        return np.where(tiles == extent, extent, tail)

    def _words(self, tensor: int, tiles: list[Tuples]) -> Numbers:
        """Return the words of tiles of a tensor, by the class of each dimension."""
        least = [each.astype(float) for each in tiles]
        words = np.ones(self._shape)
        if tensor != INPUT:
            for dim in MOVING[tensor]:
                words = words * self._along(dim, least[dim])
            return words
        for dim in (N, G, C):
            words = words * self._along(dim, least[dim])
        for axis, (out, tap) in enumerate(WINDOWS):
            step = self._facts.stride[axis], self._facts.dilation[axis]
            rows = np.array(
                [[touched(int(p), int(r), *step) for r in tiles[tap]] for p in tiles[out]]
            )
            shape = [1] * 8
            shape[out], shape[tap] = rows.shape
            words = words * rows.reshape(shape)
        return words

    def _gaps(self, tiles: list[Tuples]) -> Numbers:
        """Return what lies between the rows and columns of tiles of inputs."""
        words = np.ones(self._shape)
        for dim in (N, G, C):
            words = words * self._along(dim, tiles[dim])
        for axis, (out, tap) in enumerate(WINDOWS):
            rows = (tiles[out] - 1) * self._facts.stride[axis]
            more = (tiles[tap] - 1) * self._facts.dilation[axis]
            words = words * (self._along(out, rows) + self._along(tap, more) + 1)
        return words - self._words(INPUT, tiles)

    # ---- Fan-outs -------------------------------------------------------------------------------

    def _shared(self, table: Numbers, fanout: int, task: Task) -> Numbers:
        """Deal units to one dimension after the other, as many as there are."""
        least, most = task.units.least[fanout], task.units.most[fanout]
        # Of many numbers of units those that are close count together.
        several = most.max() > _MANY_UNITS
        by_left = {int(self._facts.elements[fanout]["size"]): table}
        for dim in range(8):
            if most[dim] == 1:
                continue
            wanted, useful = (math.prod(map(int, each[dim + 1 :])) for each in (least, most))
            found: dict[int, Numbers] = {}
            for left, each in by_left.items():
                first, last = int(least[dim]), min(int(most[dim]), left // wanted)
                while first <= last:
                    end = min(last, first * 5 // 4 if several else first)
                    dealt, rest = self._dealt(each, dim, first, end), min(left // first, useful)
                    found[rest] = np.minimum(found[rest], dealt) if rest in found else dealt
                    first = end + 1
            by_left = found
        if not by_left:
            return np.full(self._shape, np.inf)
        dealt_out: Numbers = np.min([*by_left.values()], axis=0)
        return dealt_out

    def _dealt(self, table: Numbers, dim: int, fewest: int, most: int) -> Numbers:
        """Tiles T of a dimension become ceil(T/n) for each of n units, if all get some (P6)."""
        if most == 1:
            return table
        bounds, rows = self._classes[dim], np.moveaxis(table, dim, 0)
        found = np.full(rows.shape, np.inf)
        for to, (low, high) in enumerate(bounds.tolist()):
            for source, (small, large) in enumerate(bounds.tolist()):
                shares = -(-low // most), -(-high // fewest)
                if small <= shares[1] and large >= shares[0] and high > (fewest - 1) * small:
                    found[to] = np.minimum(found[to], rows[source])
        return np.moveaxis(found, 0, dim)

    # ---- Charges --------------------------------------------------------------------------------

    def _charge(self, boundary: int, memory: int, charges: Charges) -> Numbers:
        """Return what a boundary costs that loops of a memory close, by the tiles they make."""
        facts, units = self._facts, charges.units
        tensor, parent, child = facts.boundaries[boundary]
        between = [f for f in facts.fanouts if memory <= f < child]
        apart = [f for f in between if f < parent or not charges.together(f, tensor)]
        above = [f for f in facts.fanouts if parent <= f < memory and charges.together(f, tensor)]
        chunks: list[list[Numbers]] = [[], [], []]
        for dim, bounds in enumerate(self._classes):
            extent = facts.extents[dim]
            below, alone = (
                at_work([int(units.least[f, dim]) for f in each]) for each in (between, apart)
            )
            sharers = min(extent, math.prod(int(units.most[f, dim]) for f in above))
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
            parents, childs = (planes * self._windows(chunks[kind]) for kind in (0, 1))
        else:
            parents, childs, single = (self._product(chunks[kind], tensor) for kind in range(3))
            together = math.prod(float(units.sharing[f, tensor]) for f in above)
            parents = np.maximum(words * parents, words / together * single)
            childs = words * childs
        parents, childs = np.maximum(parents, fewest), np.maximum(childs, least)
        rest = self._resting(tensor, memory, units)
        price = charges.price(
            boundary, parents + rest * (fewest - parents), childs + rest * (least - childs)
        )
        if not facts.has_gaps(boundary):
            return price
        pieces = (
            self._along(out, np.ceil(facts.extents[out] / self._classes[out][:, 0]))
            for out, _ in WINDOWS
        )
        return price + charges.gap * self._along(K, chunks[0][K]) * charges.between(*pieces)

    def _product(self, chunks: list[Numbers], tensor: int) -> Numbers:
        found = np.ones((1,) * 8)
        for dim in SHARING[tensor]:
            found = found * self._along(dim, chunks[dim])
        return found

    def _windows(self, chunks: list[Numbers]) -> Numbers:
        """Return the words of one plane of inputs that moves, as often as filters do (P8)."""
        distinct, fetched, kept, whole = [], [], [], []
        for axis, (out, tap) in enumerate(WINDOWS):
            outputs, taps = self._facts.extents[out], self._facts.extents[tap]
            stride, dilation = self._facts.stride[axis], self._facts.dilation[axis]
            tiles, cut = self._along(out, chunks[out]), self._classes[tap][:, 1]
            rows = float(touched(outputs, taps, stride, dilation))
            each = rows + 0 * tiles + 0 * self._along(tap, cut)
            if dilation == 1:
                more = [
                    min(stride, taps) if z >= taps else -(-taps * min(stride, z) // z)
                    for z in map(int, cut)
                ]
                step = self._along(tap, np.array(more))
                each = np.maximum(rows, outputs * step + tiles * (taps - step))
            overlap = max(0, (taps - 1) * dilation + 1 - stride)
            distinct.append(rows)
            fetched.append(each)
            kept.append(np.where(tiles > 1, overlap, 0.0))
            whole.append(self._along(tap, cut >= taps) > 0)
        left = [np.maximum(0.0, rows - each) for rows, each in zip(distinct, kept, strict=True)]
        words = np.minimum(left[0] * distinct[1], distinct[0] * left[1])
        better = np.maximum(words, np.minimum(left[0] * fetched[1], left[1] * fetched[0]))
        return self._along(K, chunks[K]) * np.where(whole[0] & whole[1], better, words)

    def _resting(self, tensor: int, memory: int, units: Units) -> Numbers:
        """Return the share of words at most that lie in pieces that loops do not cut (P9)."""
        found = np.zeros((1,) * 8)
        for dim in MOVING[tensor]:
            shares = [
                share_resting(self._facts, memory, dim, units, int(least), int(most))
                for least, most in self._classes[dim]
            ]
            found = np.maximum(found, self._along(dim, np.array(shares)))
        return found


def _swept(table: Numbers, dims: Iterable[int]) -> Numbers:
    """Let an element get more than its loops leave."""
    for dim in dims:
        table = np.minimum.accumulate(table, axis=dim)
    return table


def _lower(tables: dict[Open, Numbers], open_: Iterable[int], table: Numbers) -> None:
    key = frozenset(open_)
    tables[key] = np.minimum(tables[key], table) if key in tables else table
