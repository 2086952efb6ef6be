"""The least cost over all tiles and orders, relaxed, in NumPy (docs/optimum_memories.md).

Tables have an axis for each dimension, with the classes of tiles that an element gets.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from maestro_env.accelerators.loop_rules import DIMS
from maestro_env.base.checks import MAX_INT
from maestro_env.experiments.commands.verify.memories.charges import (
    Charges,
    MovedWords,
    Task,
    along,
    at_work,
)
from maestro_env.experiments.commands.verify.memories.facts import (
    FILTER,
    INPUT,
    MOVING,
    OUTPUT,
    WINDOWS,
    C,
    Facts,
    G,
    N,
    Numbers,
    R,
    S,
    Tuples,
    least_tail,
    touched,
)

_MANY_UNITS = 64

Open = frozenset[tuple[int, int | None]]
"""Boundaries with words that have not moved yet: all, or those that rest in a memory (P9)."""

Kind = tuple[Open, int | None, Open]
"""What is open outside of the second memory, what rests over the innermost loops of the first one,
and what is open at the end."""


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

    def least(self, task: Task) -> dict[Kind, float]:
        """Return what no mapping of each kind costs less than; infinite if there is none."""
        facts = self._facts
        self._moved = MovedWords(facts, self._classes, Charges(facts, task))
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
                tables = self._closed_by_taps(tables, element)
            if 0 < element < innermost:
                tables = self._closed(tables, element)
            if element:
                tables = self._entered(tables, element, task)
        charges = Charges(facts, task)
        once = 0.0 if facts.fanouts else charges.at_mac(())
        found: dict[Kind, float] = {}
        for open_, of_open in tables.items():
            for tensor, end, table in self._moved_by(open_, of_open, 0 if innermost else None):
                left = math.fsum(charges.once(b) for b, since in end if since is None)
                cost = float(table[(-1,) * 8]) + once + left
                found[open_, tensor, end] = min(cost, found.get((open_, tensor, end), math.inf))
        return found

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
            found = found * along(dim, (bounds[:, 1] >= least) & (bounds[:, 0] <= most))
        return np.asarray(found > 0, dtype=np.bool_)

    def _closed_by_taps(self, tables: dict[Open, Numbers], memory: int) -> dict[Open, Numbers]:
        """Loops of taps, innermost, move filters alone."""
        taps = self._facts.loops(memory) & {R, S}
        if self._facts.extents[R] * self._facts.extents[S] == 1 or not taps:
            return tables
        found = dict(tables)
        for open_, table in tables.items():
            filters = self._of(FILTER, open_)
            moved = _swept(self._charged(table, filters, memory), taps)
            _lower(found, (open_ - filters) | self._left(filters, memory), moved)
        return found

    def _closed(self, tables: dict[Open, Numbers], memory: int) -> dict[Open, Numbers]:
        """No loop; or loops that one tensor rests in; or then others, which close all."""
        found: dict[Open, Numbers] = {}
        for open_, table in tables.items():
            for _, left, moved in self._moved_by(open_, table, memory):
                _lower(found, left, moved)
        return found

    def _moved_by(
        self, open_: Open, table: Numbers, memory: int | None
    ) -> Iterator[tuple[int | None, Open, Numbers]]:
        """Yield the tensor that rests, what is open then, and a table, of loops of a memory."""
        loops = set[int]() if memory is None else self._facts.loops(memory)
        yield None, open_, table if open_ else _swept(table, loops)
        for tensor in (INPUT, FILTER, OUTPUT):
            own = self._of(tensor, open_)
            if not own or memory is None:
                continue
            moved = self._charged(table, open_ - own, memory)
            moved = _swept(moved, loops - MOVING[tensor])
            yield tensor, own | self._left(open_ - own, memory), moved
            moved = self._charged(moved, own, memory)
            yield tensor, self._left(open_, memory), _swept(moved, loops & MOVING[tensor])

    def _of(self, tensor: int, open_: Open) -> Open:
        """Return the boundaries of a tensor."""
        return frozenset(each for each in open_ if self._facts.boundaries[each[0]][0] == tensor)

    def _left(self, open_: Open, memory: int) -> Open:
        """Return what is left of boundaries when loops of a memory have moved their tensors."""
        found: set[tuple[int, int | None]] = set()
        for tensor in (INPUT, FILTER, OUTPUT):
            own, rests = self._of(tensor, open_), self._moved.rests(tensor, memory)
            before = [since for _, since in own if since is not None]
            less = [since for since in before if self._moved.rests(tensor, since) < rests]
            if rests:
                found |= {(b, less[0] if less else memory) for b, _ in own}
        return frozenset(found)

    def _charged(self, table: Numbers, closing: Open, memory: int) -> Numbers:
        for b, since in closing:
            tensor = self._facts.boundaries[b][0]
            rests = self._moved.rests(tensor, memory)
            if since is None:
                table = table + self._moved.closed(b, memory)
            elif (share := self._moved.rests(tensor, since) - rests) > 0:
                table = table + share * self._moved.later(b, memory)
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
            chunks = along(dim, np.ceil(facts.extents[dim] / most))
            steps = steps * chunks
            if dim in MOVING[OUTPUT]:
                outputs = outputs * chunks
                last = last * along(dim, self._least_last(dim, least, task))
            allowed = np.minimum(most, facts.rules[memory].tiles.get(DIMS[dim], MAX_INT))
            fits = fits & (along(dim, least <= allowed) > 0)
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
        opened = {(b, None) for b, (_, _, child) in enumerate(facts.boundaries) if child == memory}
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
                words = words * along(dim, least[dim])
            return words
        for dim in (N, G, C):
            words = words * along(dim, least[dim])
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
            words = words * along(dim, tiles[dim])
        for axis, (out, tap) in enumerate(WINDOWS):
            rows = (tiles[out] - 1) * self._facts.stride[axis]
            more = (tiles[tap] - 1) * self._facts.dilation[axis]
            words = words * (along(out, rows) + along(tap, more) + 1)
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


def _swept(table: Numbers, dims: Iterable[int]) -> Numbers:
    """Let an element get more than its loops leave."""
    for dim in dims:
        table = np.minimum.accumulate(table, axis=dim)
    return table


def _lower(tables: dict[Open, Numbers], open_: Open, table: Numbers) -> None:
    tables[open_] = np.minimum(tables[open_], table) if open_ in tables else table
