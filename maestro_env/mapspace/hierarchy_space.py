"""The space of mappings on an accelerator with any number of memories."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from maestro_env import _native
from maestro_env.accelerators.elements import TENSORS, FanoutElement, MemoryElement
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.accelerators.loop_rules import DIMS, INDEXING, looping
from maestro_env.base.checks import MAX_INT, require_type
from maestro_env.base.errors import MapSpaceError, UnknownNameError
from maestro_env.hierarchy.broken_rules import broken_rule
from maestro_env.hierarchy.evaluation import HierarchyEvaluator, NestMapping
from maestro_env.hierarchy.written import nest_json
from maestro_env.mapspace.space import TILES, Parameter, Points, Space, sizes_up_to, tile_name
from maestro_env.workloads.layer import Layer

# A tile that cuts nothing, whatever the extent.
_UNCUT = MAX_INT


class _Loops(NamedTuple):
    """Dimensions that may have a loop at an element.

    Args:
        first: outermost, in this order.
        free: whose order a vector chooses.
        last: innermost, in this order.
    """

    first: list[str]
    free: list[str]
    last: list[str]

    def have(self, dim: str) -> bool:
        """Say whether a dimension is one of them."""
        return dim in (*self.first, *self.free, *self.last)


@dataclass(frozen=True)
class _Part:
    """An element that loops stand at.

    Args:
        index: among the elements of the accelerator.
        name: of the element.
        loops: that may stand here.
        sizes: by dimension: choices of a tile at a memory, of units at a fan-out.
    """

    index: int
    name: str
    loops: _Loops
    sizes: dict[str, Parameter | int]

    @property
    def order(self) -> str:
        """Name of the parameter of the order."""
        return f"{self.name}_order"


@dataclass(frozen=True)
class HierarchySpace(Space):
    """All mappings of a layer on an accelerator whose loops are cut like this.

    Of each memory, a vector chooses an order of its loops, and the tile of each dimension that one
    instance of the next memory gets, clipped to what this memory got itself. Of each fan-out it
    chooses how many units of each dimension work side by side, and an order: dimensions that come
    first have units first, as long as the fan-out has some. A step of the loops above a fan-out
    serves all its units, which get equal shares (the last may be smaller). So no vector exceeds a
    fan-out, but its tiles may exceed a memory. Tiles that could fit the next memory under no
    circumstances are no choices; where 1 is left, there is no parameter. The last memory has no
    loops unless fan-outs follow it or MACs latch operands: what it gets is executed MAC by MAC,
    whatever the order (docs/spec/hierarchy.md, H2).

    Every vector obeys the rules of the accelerator's elements (H2.1), and every mapping of equal
    shares that does is one of a vector. Where a memory may not cut a dimension, the memory before
    it cuts what the units below cannot take, and where no memory may, units take larger tiles.

    A mapping is what ``HierarchyEvaluator`` evaluates: for each element its loops (dimension,
    tile), those that cut something.

    Args:
        layer: to be mapped.
        hardware: to map it to.
        tiles: choices of a tile, a name of ``TILES``.

    Raises:
        ArgumentTypeError: an argument of a wrong type; the methods raise it too.
        UnknownNameError: no such kind of tiles.
        LayerError: a transposed layer.
        MapSpaceError: no mapping of the layer obeys the rules of the accelerator.
    """

    hardware: Hierarchy
    tiles: str = "integers"

    def __post_init__(self) -> None:
        require_type("layer", self.layer, Layer, "see find_layer")
        require_type("hardware", self.hardware, Hierarchy, "see find_hierarchy")
        require_type("tiles", self.tiles, str, f"one of {', '.join(TILES)}")
        if self.tiles not in TILES:
            raise UnknownNameError("tiles", self.tiles, TILES)
        _ = self.evaluator
        if any(self.hardware.rules):
            self._require_some()

    def _require_some(self) -> None:
        """Refuse rules that leave no mapping, or some that no vector need obey."""
        for index, rules in enumerate(self.hardware.rules):
            for dim in self.extents:
                if rules.tiles.get(self._letter(dim), MAX_INT) < self.extents[dim]:
                    self._require_cut(dim, index)
        # If there is one, it has the smallest tiles.
        smallest = self.decode(np.zeros(len(self.parameters), dtype=np.int32))
        if broken := broken_rule(self.hardware, self.evaluator.shape, smallest):
            name = self.hardware.name or "the accelerator"
            raise MapSpaceError(f"no mapping of {self.layer} obeys the rules of {name}: {broken}")

    def _require_cut(self, dim: str, index: int) -> None:
        """Require that memories can make the tiles of a dimension as small as an element wants."""
        outside = [place for part, _ in self._groups if (place := part.index) < index]
        name, extent = self.hardware.names[index], self.extents[dim]
        what = f"{self.layer}: {name} allows tiles of {dim} that are smaller than {extent}"
        if any(rules.stays for rules in self.hardware.rules):
            raise MapSpaceError(f"{what}, and a tensor stays; allowed: either tiles or stays")
        if not any(self._loops(place).have(dim) for place in outside):
            raise MapSpaceError(f"{what}, and no memory outside may have a loop of it; allow one")

    @cached_property
    def evaluator(self) -> HierarchyEvaluator:
        """Evaluates single mappings in detail: words that move, bits that tiles take."""
        return HierarchyEvaluator(self.layer, self.hardware)

    @cached_property
    def native(self) -> _native.HierarchySpace:
        letters = list(enumerate(map(self._letter, self.extents)))
        return _native.HierarchySpace(
            [(parameter.name, parameter.choices) for parameter in self.parameters],
            [self._number(dim) for dim in self.extents],
            list(self.extents.values()),
            [
                (
                    self._spec(memory),
                    [(self._spec(each), self._elements[each.index]["size"]) for each in fanouts],
                )
                for memory, fanouts in self._groups
            ],
            [
                (index, sum((letter in INDEXING[tensor]) << place for place, letter in letters))
                for index, rules in enumerate(self.hardware.rules)
                for tensor in rules.stays
            ],
        )

    @property
    def tiles_decide(self) -> bool:
        """Whether larger tiles alone need more room: each memory may cut what its units share."""
        return self.native.tiles_decide

    def json_of(self, mapping: NestMapping) -> str:
        """Return what a file holds of a mapping: the loops of each element, by name."""
        return nest_json(self.hardware, mapping)

    @cached_property
    def clipped_columns(self) -> list[tuple[int, int]]:
        """Columns of tiles of one dimension at a memory, and at the next one outside."""
        found: list[tuple[int, int]] = []
        for dim in self.extents:
            sizes = [memory.sizes[dim] for memory, _ in self._groups]
            tiles = [self.columns[each.name] for each in sizes if isinstance(each, Parameter)]
            found += zip(tiles[1:], tiles, strict=False)
        return found

    def clipped(self, points: Points) -> Points:
        """Return int32[N, D] vectors, one for each mapping: nothing in them is to be clipped.

        What cuts nothing comes last in its order.
        """
        return self.native.canonical(np.ascontiguousarray(points))

    def decode(self, point: ArrayLike) -> NestMapping:
        try:
            found = self.native.decode(point)
        except ValueError as error:
            raise MapSpaceError(str(error)) from None
        names = {self._number(dim): dim for dim in self.extents}
        mapping: list[list[tuple[str, int]]] = [[] for _ in self.hardware.elements]
        for element, dim, tile in found:
            mapping[element].append((names[dim], tile))
        return tuple(map(tuple, mapping))

    def encode(self, mapping: NestMapping) -> Points:
        """Return the vector of a mapping: ``decode(encode(m)) == m``, less loops that cut nothing.

        Raises:
            MappingError: no mapping of this layer on this accelerator.
            MapSpaceError: one that the space does not have, such as units with unlike tiles.
        """
        loops = self.evaluator.loops(mapping)
        point = self.native.encode(loops)
        if self.native.decode(point) != self._cutting(loops):
            raise MapSpaceError(f"the space of {self.layer} has no such mapping")
        return point

    def ordered(self, name: str) -> list[str]:
        parts = (part for memory, fanouts in self._groups for part in (memory, *fanouts))
        return next((part.loops.free for part in parts if part.order == name), [])

    def loops(self, mapping: NestMapping) -> dict[str, list[str]]:
        elements = zip(self.hardware.elements, mapping, strict=True)
        return {
            element.name: [dim for dim, _ in loops]
            for element, loops in elements
            if isinstance(element, MemoryElement)
        }

    def _cutting(self, loops: list[tuple[int, int, int]]) -> list[list[int]]:
        """Return the loops that cut something, those of fan-outs in the order of dimensions."""
        box, found = self.evaluator.shape.native(), []
        for element, dim, tile in loops:
            if tile < box[dim]:
                found.append([element, dim, tile])
                box[dim] = tile
        places = [self._number(dim) for dim in self.extents]
        fans = [isinstance(each, FanoutElement) for each in self.hardware.elements]
        return sorted(found, key=lambda loop: (loop[0], fans[loop[0]] and places.index(loop[1])))

    def _make_parameters(self) -> Iterator[Parameter]:
        for memory, fanouts in self._groups:
            for part in (memory, *fanouts):
                free = len(part.loops.free)
                if free > 1 or free == len(self.extents):
                    orders = range(math.factorial(free))
                    yield Parameter(part.order, "order", orders)
                yield from (each for each in part.sizes.values() if isinstance(each, Parameter))

    @cached_property
    def _groups(self) -> list[tuple[_Part, list[_Part]]]:
        """Each memory with loops, and the fan-outs between it and the next memory."""
        elements = self.hardware.elements
        memories = [i for i, each in enumerate(elements) if isinstance(each, MemoryElement)]
        groups = []
        for index, following in zip(memories, [*memories[1:], len(elements)], strict=True):
            fanouts = [self._units(at) for at in range(index + 1, following)]
            if following < len(elements) or fanouts or self.hardware.mac.latches:
                groups.append((self._tiles(index, following, fanouts), fanouts))
        return groups

    def _tiles(self, index: int, following: int, fanouts: list[_Part]) -> _Part:
        """Return the choices at a memory, which the following one limits."""
        name, sizes = self.hardware.names[index], dict[str, Parameter | int]()
        loops = self._loops(index)
        for dim, extent in self.extents.items():
            most = self._most(dim, following)
            if not any(each.have(dim) for each in (loops, *(part.loops for part in fanouts))):
                sizes[dim] = int(min(most, _UNCUT))
            elif most < 2:
                sizes[dim] = 1
            else:
                values = sizes_up_to(extent, self.tiles)
                fitting = values[: bisect_right(values, most)]
                sizes[dim] = Parameter(tile_name(name, dim), "tile", fitting)
        return _Part(index, name, loops, sizes)

    def _units(self, index: int) -> _Part:
        """Return the choices at a fan-out."""
        name, size = self.hardware.names[index], self._elements[index]["size"]
        loops, most = self._loops(index), self.hardware.rules[index].units
        sizes: dict[str, Parameter | int] = dict.fromkeys(self.extents, 1)
        for dim in loops.free:
            units = range(1, min(size, self.extents[dim], most.get(self._letter(dim), size)) + 1)
            sizes[dim] = Parameter(units_name(name, dim), "cluster", units)
        return _Part(index, name, loops, sizes)

    def _loops(self, index: int) -> _Loops:
        """Return the dimensions that may have a loop at an element."""
        rules, allowed = self.hardware.rules[index], looping(self.hardware.rules, index)
        dims = {letter: dim for dim in self.extents if (letter := self._letter(dim)) in allowed}
        first = [dims.pop(letter) for letter in rules.outermost if letter in dims]
        last = [dims.pop(letter) for letter in rules.innermost if letter in dims]
        return _Loops(first, list(dims.values()), last[::-1])

    def _most(self, dim: str, index: int) -> float:
        """Return the largest tile that an element may get and could hold if all others were 1."""
        if index == len(self._elements):
            # The MAC holds nothing.
            return math.inf
        memory, letter = self._elements[index], self._letter(dim)
        allowed: float = self.hardware.rules[index].tiles.get(letter, math.inf)
        if memory["pool"] == 0:
            # The first memory has room for all.
            return allowed
        words = [
            width * memory["buffers"] * keeps
            for width, keeps in zip(memory["width"], memory["keeps"], strict=True)
        ]
        grows = [bits * (letter in INDEXING[t]) for t, bits in zip(TENSORS, words, strict=True)]
        rooms = self._elements[memory["pool"]]["capacity"]
        pairs = zip([*words, sum(words)], [*grows, sum(grows)], rooms, strict=True)
        limits = [(room - bits + each) / each for bits, each, room in pairs if each]
        return float(max(1, min([*limits, allowed])))

    @cached_property
    def _elements(self) -> list[dict[str, Any]]:
        return self.hardware.native()[0]

    def _number(self, dim: str) -> int:
        """Return the number of a dimension's loop, an index of ``DIMS``."""
        number = self.evaluator.shape.dim(dim)
        assert number is not None
        return number

    def _letter(self, dim: str) -> str:
        """Return the one of ``DIMS`` that a dimension is."""
        return DIMS[self._number(dim)]

    def _spec(self, part: _Part) -> tuple[Any, ...]:
        """Return an element, the column of its order, its loops and sizes for the C++ core."""
        places = {dim: place for place, dim in enumerate(self.extents)}
        sizes = [
            (-1, [size])
            if isinstance(size, int)
            # The core takes no values for index + 1.
            else (
                self.columns[size.name],
                [] if isinstance(size.values, range) else list(map(int, size.values)),
            )
            for size in part.sizes.values()
        ]
        loops = [[places[dim] for dim in dims] for dims in part.loops]
        return part.index, self.columns.get(part.order, -1), loops, sizes


def units_name(fanout: str, dim: str) -> str:
    """Return the name of the units of a dimension at a fan-out."""
    return f"{fanout}_units_{dim.rstrip(chr(39))}"
