"""Evaluates mappings on an accelerator with any number of memories: one, or many at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from maestro_env import _native
from maestro_env.accelerators.elements import TENSORS, MemoryElement
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.accelerators.loop_rules import DIMS
from maestro_env.base.checks import MAX_INT, require_integer
from maestro_env.base.errors import MappingError, UnknownNameError, quoted
from maestro_env.base.pickling import Recomputed
from maestro_env.base.real_units import RealFigures
from maestro_env.hierarchy.broken_rules import broken_rule
from maestro_env.hierarchy.shape import Shape
from maestro_env.workloads.layer import Layer

FIGURES: tuple[str, ...] = _native.HIERARCHY_FIGURES
"""Columns of a batch: cycles in all, of unit 0's computing, of first fetches, of last drains, of
the busiest port; energy in nJ (H6, H7)."""

STATUSES: tuple[str, ...] = _native.HIERARCHY_STATUSES
"""Status codes of a batch index this tuple (H7)."""

Halo = Literal["always", "innermost"]
Share = Literal["windows", "tiles"]
PartialSums = Literal["readback", "bias", "destination"]
NestMapping = Sequence[Sequence[tuple[str, int]]]
"""Loops (dimension, tile) of each element: temporal at a memory, spatial at a fan-out (H2)."""

_CHOICES = {"halo": get_args(Halo), "share": get_args(Share), "psum": get_args(PartialSums)}


@dataclass(frozen=True, kw_only=True)
class Conventions:
    """Switches for comparisons with other tools (H8); the defaults are this model's.

    Args:
        halo: rows that two windows share stay whenever both steps need them, or only as the
            innermost loop advances.
        share: units of a fan-out share the words of overlapping windows, or equal tiles alone.
        psum: partial sums with an older value go down again; also the first ones (a bias); or none
            does, and they are added where they are stored.
        drains: words that leave a memory are read from it.
        exposed: first fetches and last drains take time of their own.
        latch: every MAC unit keeps its operands for the next step.
    """

    halo: Halo = "always"
    share: Share = "windows"
    psum: PartialSums = "readback"
    drains: bool = True
    exposed: bool = True
    latch: bool = False

    def native(self) -> dict[str, int]:
        """Return the switches as the C++ core reads them."""
        codes = {}
        for name, value in ((each.name, getattr(self, each.name)) for each in fields(self)):
            allowed = _CHOICES.get(name, (False, True))
            if value not in allowed:
                raise UnknownNameError(name, value, map(str, allowed))
            codes[name] = allowed.index(value)
        return codes


@dataclass(frozen=True)
class Moved:
    """Words of one tensor between two memories that hold it, or a memory and ``mac`` (H3, H4).

    Args:
        tensor: input, filter or output.
        parent: name of the outer memory.
        child: name of the inner memory, or mac.
        parent_words: read at all instances of the parent; of outputs, arriving there.
        child_words: taken in by all instances of the child; of outputs, leaving them.
        first_arrivals: of outputs, arrivals that find no older value.
        parent_reads: accesses of the parent for this.
        parent_writes: likewise.
        child_reads: accesses of the child; of outputs, the drains.
        child_writes: of outputs, partial sums that come back; a fraction where tiles are ragged.
    """

    tensor: str
    parent: str
    child: str
    parent_words: int
    child_words: int
    first_arrivals: int
    parent_reads: float
    parent_writes: float
    child_reads: float
    child_writes: float


@dataclass(frozen=True)
class HierarchyCost:
    """What a mapping costs.

    Args:
        status: ``ok``, or ``pool_overflow`` if the tiles exceed a capacity.
        latency_cycles: first + max(compute, port) + last cycles.
        compute_cycles: of the unit with the largest tiles, and of outputs after their last MAC.
        first_cycles: of the first fetch of every memory, and its share at further tiles of outputs.
        last_cycles: of the last drain of every memory.
        port_cycles: that the busiest port needs for all else.
        energy_nj: of MACs, accesses and fan-outs.
        macs: of the layer.
        traffic: words between each pair of consecutive holders.
        tile_bits: that the tiles take, by name of the physical memory and by tensor.
    """

    status: str
    latency_cycles: float
    compute_cycles: float
    first_cycles: float
    last_cycles: float
    port_cycles: float
    energy_nj: float
    macs: int
    traffic: tuple[Moved, ...]
    tile_bits: Mapping[str, Mapping[str, float]]

    @property
    def needed_bits(self) -> dict[str, float]:
        """Bits that all tiles take, by name of the physical memory."""
        return {name: sum(bits.values()) for name, bits in self.tile_bits.items()}

    @property
    def accesses(self) -> dict[tuple[str, str], float]:
        """Words read and written, by name of the memory (or ``mac``) and tensor."""
        words: dict[tuple[str, str], float] = defaultdict(float)
        for moved in self.traffic:
            words[moved.parent, moved.tensor] += moved.parent_reads + moved.parent_writes
            words[moved.child, moved.tensor] += moved.child_reads + moved.child_writes
        return dict(words)


@dataclass(frozen=True)
class HierarchyEvaluator(Recomputed):
    """Evaluates mappings of one layer on one accelerator.

    Args:
        layer: a layer, or the shape of one (with dilation).
        hierarchy: the accelerator.
        conventions: for comparisons with other tools.
    """

    layer: Layer | Shape
    hierarchy: Hierarchy
    conventions: Conventions = Conventions()

    def __post_init__(self) -> None:
        # What is wrong with the arguments is said here.
        _ = self._core

    @cached_property
    def shape(self) -> Shape:
        """The loops of the layer."""
        return Shape.of(self.layer) if isinstance(self.layer, Layer) else self.layer

    @cached_property
    def _core(self) -> _native.HierarchyEvaluator:
        return _native.HierarchyEvaluator(*self.native())

    def native(self) -> tuple[Any, ...]:
        """Return layer, accelerator and conventions as the C++ core reads them."""
        elements, mac = self.hierarchy.native()
        shape, options = self.shape, self.conventions.native()
        if options.pop("latch"):
            mac["latch"] = [True] * len(TENSORS)
        return shape.native(), shape.stride, shape.dilation, elements, mac, options

    @cached_property
    def prices(self) -> list[tuple[int, int, int, list[Any]]]:
        """Of each boundary: tensor, parent, child, and what an access of each kind costs.

        The elements are numbers, the MAC's one more than the last. Kinds are reads and writes of
        the parent, those of the child, and words carried between them; each has its energy in pJ,
        and its cycles at the two ports of every element, at least (H10.8). Fan-outs of limited
        bandwidth follow, as parents of the words that cross them.
        """
        return self._core.prices()

    @cached_property
    def roundings(self) -> NDArray[np.float64]:
        """Cycles of each port besides, for a word of a tensor at the first memory.

        float64[3, E, 2]. If each word moves once or more, beats and lines that runs do not fill
        take so many for each.
        """
        return np.array(self._core.roundings())

    def evaluate(self, mapping: NestMapping) -> tuple[HierarchyCost | None, str]:
        """Return the cost of a mapping, None if it has none, and its status (H7).

        Args:
            mapping: loops of each element, outermost first. A tile larger than what it cuts is
                clipped; what is left below the last element is executed MAC by MAC.

        Raises:
            MappingError: as ``loops`` raises it.
        """
        status, results = self._core.evaluate(self.loops(mapping))
        if results is None:
            return None, status
        figures, traffic, bits = results
        tile_bits = {
            element.name: dict(zip(TENSORS, each, strict=True))
            for element, each in zip(self.hierarchy.elements, bits, strict=True)
            if isinstance(element, MemoryElement) and element.pool is None
        }
        moved = tuple(Moved(*each) for each in traffic)
        found = dict(zip(FIGURES, figures, strict=True))
        cost = HierarchyCost(
            status=status, macs=self.shape.macs, traffic=moved, tile_bits=tile_bits, **found
        )
        return cost, status

    def moved_bits(self, cost: HierarchyCost) -> dict[str, float]:
        """Return the bits that each physical memory sends and takes, by name."""
        bits = dict.fromkeys(cost.needed_bits, 0.0)
        memories = {each.name: each for each in self.hierarchy.elements}
        for (name, tensor), words in cost.accesses.items():
            memory = memories.get(name)
            if isinstance(memory, MemoryElement):
                width = memory.widths(self.hierarchy.word_bits)[TENSORS.index(tensor)]
                bits[memory.pool or name] += words * width
        return bits

    def real(self, cost: HierarchyCost) -> RealFigures:
        """Return a cost in real units, with the bandwidths of the physical memories."""
        clock, bits = self.hierarchy.clock_mhz, self.moved_bits(cost)
        return RealFigures.of(cost.latency_cycles, cost.energy_nj, cost.macs, clock, bits)

    def encode(self, mappings: Sequence[NestMapping]) -> NDArray[np.int32]:
        """Return mappings as int32[N, L, 3]: element, dimension (of ``DIMS``), tile of each loop.

        L is the number of loops of the longest; shorter ones end with an element of -1.
        """
        rows = [self.loops(mapping) for mapping in mappings]
        width = max((len(row) for row in rows), default=0)
        return np.array(
            [[*row, *[(-1, 0, 0)] * (width - len(row))] for row in rows], dtype=np.int32
        ).reshape(len(rows), width, 3)

    def decode(self, row: NDArray[np.int32]) -> NestMapping:
        """Return one mapping of a batch, int32[L, 3], as ``evaluate`` takes it."""
        mapping: list[list[tuple[str, int]]] = [[] for _ in self.hierarchy.elements]
        for element, dim, tile in row.tolist():
            if element >= 0:
                mapping[element].append((self.shape.name(dim), tile))
        return mapping

    def evaluate_batch(
        self, mappings: NDArray[np.int32]
    ) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        """Return the figures of many mappings, float64[N, M], and their status codes, uint8[N].

        Args:
            mappings: int32[N, L, 3] as ``encode`` makes it, in C order.

        The columns are ``FIGURES``; NaN where a mapping has no cost. Codes index ``STATUSES``.

        Raises:
            ValueError: another array.
        """
        return self._core.evaluate_batch(mappings)

    def loops(self, mapping: NestMapping) -> list[tuple[int, int, int]]:
        """Return element, dimension (of ``DIMS``) and tile of each loop of a mapping.

        Raises:
            MappingError: not a list of loops for each element, an unknown dimension, or a loop
                that the accelerator cannot run.
        """
        names = self.hierarchy.names
        listed = isinstance(mapping, Sequence) and all(isinstance(x, Sequence) for x in mapping)
        if not listed or len(mapping) != len(names):
            raise MappingError(
                f"a mapping of {quoted(mapping)}; allowed: a list of loops for each of "
                f"{', '.join(names)}"
            )
        found = [
            (element, *self._loop(names[element], loop))
            for element, loops in enumerate(mapping)
            for loop in loops
        ]
        # Tiles below 1 have a status.
        legal = all(tile > 0 for _, _, tile in found)
        if legal and (broken := broken_rule(self.hierarchy, self.shape, mapping)):
            called = self.hierarchy.name or "the accelerator"
            way_out = "or, without its rules, constraints none"
            raise MappingError(f"{called} cannot run this mapping: {broken}; {way_out}")
        return found

    def _loop(self, element: str, loop: Any) -> tuple[int, int]:
        try:
            name, tile = loop
            dim = self.shape.dim(name)
        except (TypeError, ValueError):
            dim = None
        if dim is None:
            raise MappingError(
                f"{element} has the loop {quoted(loop)}; allowed: (dimension, tile), with one of "
                f"{', '.join((*self.shape.names, *DIMS))}"
            )
        # No extent is larger, so neither need a tile be; one below 1 has a status.
        size = require_integer(f"{element}: tile of {name}", tile, MappingError, -MAX_INT, 2**63)
        return dim, min(size, MAX_INT)


@dataclass(frozen=True)
class Fill:
    """How full a memory, or its room for a tensor, is; of one instance.

    Args:
        name: of the physical memory, followed by that of the tensor if each has its room.
        needed_bits: of all tiles, as often as they are held.
        capacity_bits: None without limit.
    """

    name: str
    needed_bits: float
    capacity_bits: int | None

    @property
    def share(self) -> float | None:
        """Share of the capacity, None without limit."""
        return None if self.capacity_bits is None else self.needed_bits / self.capacity_bits


def fills_of(hierarchy: Hierarchy, cost: HierarchyCost) -> Iterator[Fill]:
    """Yield how full the memories are, but for main memory."""
    for element in hierarchy.elements[1:]:
        if not isinstance(element, MemoryElement) or element.pool is not None:
            continue
        bits = cost.tile_bits[element.name]
        if isinstance(element.capacity_bits, Mapping):
            for tensor, room in element.capacity_bits.items():
                yield Fill(f"{element.name} {tensor}", bits[tensor], room)
        elif any(bits.values()):
            yield Fill(element.name, sum(bits.values()), element.capacity_bits)
