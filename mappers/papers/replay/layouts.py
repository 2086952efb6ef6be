"""Layouts of a replay: rings of joint steps of N agents, which differ in memory and time only.

A row is one joint step of one copy of the environment: what all N agents saw, did, were paid and
saw next. A step of E copies fills E consecutive rows. A full ring overwrites its oldest rows.
Equal steps give bit-equal batches in all layouts.
"""

from __future__ import annotations

import mmap
import sys
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from maestro_env.base.checks import look_up
from maestro_env.base.errors import MaestroEnvError
from maestro_env.mappers.parts.arrays import Floats32, Integers

DTYPES = {"float32": np.float32, "float16": np.float16}
"""What numbers are stored as; what is gathered is float32."""

# Bytes from which on memory is kept.
_LARGE = 2**20
_SIGN = np.int32(-(2**31))


class ReplayError(MaestroEnvError, ValueError):
    """A replay that cannot exist, a step that does not fit it, or rows that it does not hold."""


@dataclass(frozen=True)
class Fields:
    """How many numbers each agent sees, and how many its action has."""

    observations: tuple[int, ...]
    actions: tuple[int, ...]

    def __post_init__(self) -> None:
        if not 0 < len(self.observations) == len(self.actions):
            raise ReplayError(
                f"fields of {len(self.observations)} observations and {len(self.actions)} actions: "
                "give one of each for every agent, and one agent or more"
            )
        if min(self.observations + self.actions) < 1:
            raise ReplayError(f"{self}: every observation and action needs 1 number or more")

    @property
    def agents(self) -> int:
        """Number of agents N."""
        return len(self.actions)


class Batch(NamedTuple):
    """B rows of N agents: per agent float32[B, o_i] or float32[B, a_i], and float32[B, N]."""

    observations: Sequence[Floats32]
    actions: Sequence[Floats32]
    rewards: Floats32
    next_observations: Sequence[Floats32]
    dones: Floats32


class Replay(ABC):
    """A ring of joint steps.

    Args:
        fields: of the agents.
        capacity: most rows.
        dtype: one of ``DTYPES``.
    """

    def __init__(self, fields: Fields, capacity: int, dtype: str = "float32") -> None:
        if capacity < 1:
            raise ReplayError(f"replay of {capacity} rows: allowed are 1 or more")
        self.fields, self.capacity = fields, capacity
        self.added = 0
        """Rows ever added, the overwritten ones included."""
        self._dtype: DTypeLike = look_up("dtype of a replay", dtype, DTYPES)
        self._seen, self._acted = _cuts(fields.observations), _cuts(fields.actions)
        # Widths of the blocks of a row: observations; actions, rewards and dones.
        self._wide = sum(fields.observations)
        self._rest = sum(fields.actions) + 2 * fields.agents
        self._memory = _Memory()

    def __len__(self) -> int:
        return min(self.added, self.capacity)

    @property
    def head(self) -> int:
        """The row that is written next; in a full ring the oldest."""
        return self.added % self.capacity

    def add(
        self,
        observations: Sequence[NDArray[np.generic]],
        actions: Sequence[NDArray[np.generic]],
        rewards: NDArray[np.generic],
        next_observations: Sequence[NDArray[np.generic]],
        dones: NDArray[np.generic],
    ) -> None:
        """Add a step of E copies as E rows: arrays [E, ...] of numbers as in ``Batch``.

        Raises:
            ReplayError: a shape differs, there are more copies than rows, or float16 does not
                hold a number.
        """
        arrays = (*observations, *actions, rewards, *next_observations, dones)
        copies = self._copies(arrays, rewards)
        rows = (self.added + np.arange(copies)) % self.capacity
        self._write(
            rows,
            self._stored(observations),
            self._stored([*actions, rewards, dones]),
            self._stored(next_observations),
        )
        self.added += copies

    def gather(self, rows: Integers) -> Batch:
        """Return copies of B rows, in their order; a row may be there more than once.

        Raises:
            ReplayError: a row that is not filled.
        """
        # Negative numbers are the largest of unsigned ones.
        if len(rows) and rows.view(np.uint64).max() >= len(self):
            raise ReplayError(
                f"rows from {rows.min()} to {rows.max()}: allowed are 0 to {len(self) - 1}, "
                "which are filled"
            )
        return self._read(rows)

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes of memory, once the ring is full."""

    @abstractmethod
    def _write(self, rows: Integers, seen: Floats32, rest: Floats32, following: Floats32) -> None:
        """Write rows: their blocks as they are stored."""

    @abstractmethod
    def _read(self, rows: Integers) -> Batch: ...

    def _copies(self, arrays: Sequence[NDArray[np.generic]], rewards: NDArray[np.generic]) -> int:
        """Return the number of copies of a step whose arrays fit."""
        seen, acted, agents = self.fields.observations, self.fields.actions, self.fields.agents
        copies = len(rewards)
        shapes = [np.shape(each) for each in arrays]
        wanted = [(copies, width) for width in (*seen, *acted, agents, *seen, agents)]
        if shapes != wanted:
            raise ReplayError(
                f"observations, actions, rewards, next observations and dones of shapes {shapes}: "
                f"allowed are {wanted}"
            )
        if not 0 < copies <= self.capacity:
            raise ReplayError(f"a step of {copies} copies: allowed are 1 to {self.capacity}")
        return copies

    def _stored(self, parts: Sequence[NDArray[np.generic]]) -> Floats32:
        """Return arrays [E, ...] as one block of the storage's type."""
        with np.errstate(over="ignore"):
            block = np.concatenate(parts, axis=1, dtype=self._dtype, casting="same_kind")
        if self._dtype == np.float16 and not np.isfinite(block).all():
            raise ReplayError(
                "a number that float16 does not hold: allowed are finite ones to "
                f"{np.finfo(np.float16).max}; scale them, or store float32"
            )
        return block

    def _batch(self, seen: Floats32, rest: Floats32, following: Floats32) -> Batch:
        """Return a batch of views of its blocks."""
        agents = self.fields.agents
        return Batch(
            [seen[:, cut] for cut in self._seen],
            [rest[:, cut] for cut in self._acted],
            rest[:, -2 * agents : -agents],
            [following[:, cut] for cut in self._seen],
            rest[:, -agents:],
        )


class ListReplay(Replay):
    """A Python list per agent, of a tuple per row: the ring of openai/maddpg.

    It is read as it is there: agent after agent, row by row, then stacked. Other than there, the
    arrays of next observations are not those of the next row.
    """

    def __init__(self, fields: Fields, capacity: int, dtype: str = "float32") -> None:
        super().__init__(fields, capacity, dtype)
        self._memories: list[list[tuple[Floats32 | float, ...]]] = [[] for _ in fields.actions]

    @property
    def nbytes(self) -> int:
        parts = [each for memory in self._memories for one in memory[:1] for each in (one, *one)]
        # Numbers and shape of an array are blocks of memory of their own.
        blocks = sum(32 for each in parts if isinstance(each, np.ndarray))
        pointers = 8 * len(self._memories)
        return self.capacity * (pointers + blocks + sum(map(sys.getsizeof, parts)))

    def _write(self, rows: Integers, seen: Floats32, rest: Floats32, following: Floats32) -> None:
        step = self._batch(seen, rest, following)
        # A step's arrays are made together, as an environment makes them.
        for copy, row in enumerate(rows.tolist()):
            for agent, memory in enumerate(self._memories):
                memory[row : row + 1] = [
                    (
                        step.observations[agent][copy].copy(),
                        step.actions[agent][copy].copy(),
                        float(step.rewards[copy, agent]),
                        step.next_observations[agent][copy].copy(),
                        float(step.dones[copy, agent]),
                    )
                ]

    def _read(self, rows: Integers) -> Batch:
        agents = [self._read_agent(memory, rows.tolist()) for memory in self._memories]
        seen, actions, rewards, following, dones = zip(*agents, strict=True)
        return Batch(seen, actions, np.stack(rewards, axis=1), following, np.stack(dones, axis=1))

    @staticmethod
    def _read_agent(
        memory: list[tuple[Floats32 | float, ...]], rows: Iterable[int]
    ) -> tuple[Floats32, ...]:
        columns: tuple[list[Floats32 | float], ...] = ([], [], [], [], [])
        seen, actions, rewards, following, dones = columns
        for row in rows:
            one = memory[row]
            seen.append(np.asarray(one[0]))
            actions.append(np.asarray(one[1]))
            rewards.append(one[2])
            following.append(np.asarray(one[3]))
            dones.append(one[4])
        return tuple(np.array(column, dtype=np.float32) for column in columns)


class SoaReplay(Replay):
    """An array per agent and field (a structure of arrays)."""

    def __init__(self, fields: Fields, capacity: int, dtype: str = "float32") -> None:
        super().__init__(fields, capacity, dtype)
        seen, acted, ones = fields.observations, fields.actions, (1,) * fields.agents
        widths = (*seen, *acted, *ones, *seen, *ones)
        self._columns = [np.zeros((capacity, each), self._dtype) for each in widths]

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in self._columns)

    def _write(self, rows: Integers, seen: Floats32, rest: Floats32, following: Floats32) -> None:
        step = self._batch(seen, rest, following)
        rewards, dones = (each.T[..., np.newaxis] for each in (step.rewards, step.dones))
        parts = (*step.observations, *step.actions, *rewards, *step.next_observations, *dones)
        for column, part in zip(self._columns, parts, strict=True):
            column[rows] = part

    def _read(self, rows: Integers) -> Batch:
        taken = [self._memory.taken(column, rows) for column in self._columns]
        agents = self.fields.agents
        seen, acted, rewards, following, dones = (
            taken[start : start + agents] for start in range(0, 5 * agents, agents)
        )
        return Batch(seen, acted, np.hstack(rewards), following, np.hstack(dones))


class JointReplay(Replay):
    """One contiguous row a step: everything of all agents; a batch is views of what was taken."""

    def __init__(self, fields: Fields, capacity: int, dtype: str = "float32") -> None:
        super().__init__(fields, capacity, dtype)
        self._table = np.zeros((capacity, 2 * self._wide + self._rest), self._dtype)

    @property
    def nbytes(self) -> int:
        return self._table.nbytes

    def _write(self, rows: Integers, seen: Floats32, rest: Floats32, following: Floats32) -> None:
        self._table[rows] = np.concatenate([seen, rest, following], axis=1)

    def _read(self, rows: Integers) -> Batch:
        taken = self._memory.taken(self._table, rows)
        return self._batch(
            taken[:, : self._wide], taken[:, self._wide : -self._wide], taken[:, -self._wide :]
        )


class Joint2Replay(Replay):
    """Joint rows without the next observations, which are the observations of the next step.

    Of E copies, the row of the next step is E rows later. Where that row is not there yet (the
    last step), or begins a new episode, or belongs to a step of another number of copies, the next
    observation is kept in a table of its own until the row is overwritten. Whether it is the next
    step's is seen from the bits, so that an episode may end in any way.
    """

    def __init__(self, fields: Fields, capacity: int, dtype: str = "float32") -> None:
        super().__init__(fields, capacity, dtype)
        self._table = np.zeros((capacity, self._wide), self._dtype)
        self._others = np.zeros((capacity, self._rest), self._dtype)
        # Of every row: the row of its next observation, or -1 - its place among the kept ones.
        self._next = np.zeros(capacity, np.int64)
        self._kept = np.zeros((0, self._wide), self._dtype)
        self._free: list[int] = []
        self._last: Integers = np.zeros(0, np.int64)

    @property
    def nbytes(self) -> int:
        return sum(each.nbytes for each in (self._table, self._others, self._next, self._kept))

    def _write(self, rows: Integers, seen: Floats32, rest: Floats32, following: Floats32) -> None:
        self._link(rows, seen)
        self._release(rows[self.capacity - len(self) :])  # The first ones fill what was empty.
        self._table[rows], self._others[rows] = seen, rest
        places = self._places(len(rows))
        self._kept[places], self._next[rows] = following, -1 - places
        self._last = rows

    def _link(self, rows: Integers, seen: Floats32) -> None:
        """Let the rows of the last step refer to these where their next observation is there."""
        if len(rows) != len(self._last):
            return
        same = (_bits(self._kept[-1 - self._next[self._last]]) == _bits(seen)).all(axis=1)
        self._release(self._last[same])
        self._next[self._last[same]] = rows[same]

    def _release(self, rows: Integers) -> None:
        """Free the places of rows that are overwritten, or whose next observation is a row's."""
        places = -1 - self._next[rows]
        self._free.extend(places[places >= 0].tolist())

    def _places(self, count: int) -> Integers:
        """Return free places for kept observations; double the places when they run out."""
        size = len(self._kept)
        if (short := count - len(self._free)) > 0:
            # Every row has one at most, so that twice as many may be too many.
            more = min(max(short, size), self.capacity - size)
            self._kept = np.concatenate([self._kept, np.zeros((more, self._wide), self._dtype)])
            self._free.extend(range(size, size + more))
        taken = self._free[-count:]
        del self._free[-count:]
        return np.array(taken, np.int64)

    def _read(self, rows: Integers) -> Batch:
        where = self._next[rows]
        ended = np.flatnonzero(where < 0)
        following = self._memory.taken(self._table, np.maximum(where, 0))
        following[ended] = self._kept[-1 - where[ended]]
        seen, rest = (self._memory.taken(each, rows) for each in (self._table, self._others))
        return self._batch(seen, rest, following)


LAYOUTS: dict[str, type[Replay]] = {
    "list": ListReplay,
    "soa": SoaReplay,
    "joint": JointReplay,
    "joint2": Joint2Replay,
}


def make_replay(layout: str, fields: Fields, capacity: int, dtype: str = "float32") -> Replay:
    """Make an empty replay of a layout: one of ``LAYOUTS``."""
    return look_up("layout of a replay", layout, LAYOUTS)(fields, capacity, dtype)


def _cuts(widths: Iterable[int]) -> list[slice]:
    """Return where parts of these widths lie, one after the other."""
    return [slice(*ends) for ends in pairwise(accumulate(widths, initial=0))]


class _Memory:
    """Memory of large batches, which is used again once nobody holds a part of them.

    Where it is freed, it goes back to the system, and to get it anew takes longer than to fill it.
    """

    def __init__(self) -> None:
        # The array that was made of each lives as long as it or a view of it is held.
        self._lent: dict[mmap.mmap, weakref.ref[NDArray[Any]]] = {}
        self._lock = Lock()

    def __reduce__(self) -> tuple[type[_Memory], tuple[()]]:
        return _Memory, ()  # A copy of a replay begins with none.

    def taken(self, table: NDArray[np.floating], rows: Integers) -> Floats32:
        """Return copies of rows that a table has."""
        shape = len(rows), table.shape[1]
        taken = self._empty(shape, table.dtype)
        # In the other modes NumPy does not write to ``out`` at once.
        np.take(table, rows, axis=0, out=taken, mode="clip")
        return taken if taken.dtype == np.float32 else _widened(taken, self._empty(shape, np.int32))

    def _empty(self, shape: tuple[int, int], dtype: DTypeLike) -> NDArray[Any]:
        """Return an array of any content."""
        size = shape[0] * shape[1] * np.dtype(dtype).itemsize
        if size < _LARGE:
            return np.empty(shape, dtype)
        with self._lock:
            pages = self._free(size)
            array = np.ndarray(shape, dtype, buffer=pages)
            self._lent[pages] = weakref.ref(array)
        return array

    def _free(self, size: int) -> mmap.mmap:
        """Return memory that nobody holds, of so many bytes or more."""
        free = [pages for pages, array in self._lent.items() if array() is None]
        for pages in free:
            if len(pages) >= size:
                return pages
        # Larger batches than before: there may be no more of the others.
        for pages in free:
            del self._lent[pages]
        return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def _widened(halves: NDArray[np.float16], bits: NDArray[np.int32]) -> Floats32:
    """Return finite float16 as float32, in the memory of ``bits``: faster than ``astype``."""
    # To the fields of a float32: the sign stays in front, exponent and fraction move below.
    bits[...] = halves.view(np.int16)
    bits <<= 13
    bits &= _SIGN | 0x0FFFE000
    # Their exponents are from 15, those of float32 from 127.
    numbers = bits.view(np.float32)
    numbers *= np.float32(2.0 ** (127 - 15))
    return numbers


def _bits(block: Floats32) -> NDArray[np.unsignedinteger]:
    """Return numbers as bits: equal ones may differ in sign, and NaN is unlike itself."""
    return block.view(f"u{block.itemsize}")
