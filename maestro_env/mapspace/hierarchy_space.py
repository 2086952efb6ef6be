"""The space of mappings on an accelerator with any number of memories."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from maestro_env import _native
from maestro_env.accelerators.hierarchy import TENSORS, FanoutElement, Hierarchy, MemoryElement
from maestro_env.base.checks import require_type
from maestro_env.base.errors import MapSpaceError, UnknownNameError
from maestro_env.hierarchy.evaluation import HierarchyEvaluator, NestMapping
from maestro_env.hierarchy.shape import DIMS
from maestro_env.hierarchy.written import nest_json
from maestro_env.mapspace.parameter import Parameter
from maestro_env.mapspace.space import TILES, Points, Space, sizes_up_to, tile_name
from maestro_env.workloads.layer import Layer

# The dimensions of each tensor, by the loops of the nest.
_LOOPS = {"input": "NGCPQRS", "filter": "GKCRS", "output": "NGKPQ"}


@dataclass(frozen=True)
class _Part:
    """An element that loops stand at.

    Args:
        index: among the elements of the accelerator.
        name: of the element.
        sizes: by dimension: choices of a tile at a memory, of units at a fan-out.
    """

    index: int
    name: str
    sizes: dict[str, Parameter | int]


@dataclass(frozen=True)
class HierarchySpace(Space):
    """All mappings of a layer on an accelerator whose loops are cut like this.

    Of each memory, a vector chooses an order of its loops, and the tile of each dimension that one
    instance of the next memory gets, clipped to what this memory got itself. Of each fan-out it
    chooses how many units of each dimension work side by side, and an order: dimensions that come
    first have units first, as long as the fan-out has some. A step of the loops above a fan-out
    serves all its units. So no vector exceeds a fan-out, but its tiles may exceed a memory. Tiles
    that could fit the next memory under no circumstances are no choices; where 1 is left, there is
    no parameter. The last memory has no loops unless fan-outs follow it or MACs latch operands:
    what it gets is executed MAC by MAC, whatever the order (docs/spec/hierarchy.md, H2).

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

    @cached_property
    def evaluator(self) -> HierarchyEvaluator:
        """Evaluates single mappings in detail: words that move, bits that tiles take."""
        return HierarchyEvaluator(self.layer, self.hardware)

    @cached_property
    def native(self) -> _native.HierarchySpace:
        """The space as the C++ core decodes it."""
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
        )

    def json_of(self, mapping: NestMapping) -> str:
        """Return what a file holds of a mapping: the loops of each element, by name."""
        return nest_json(self.hardware, mapping)

    def clipped(self, points: Points) -> Points:
        """Return int32[N, D] vectors, one for each mapping: nothing in them is to be clipped.

        What cuts nothing comes last in its order.
        """
        return self.native.canonical(np.ascontiguousarray(points))

    def decode(self, point: ArrayLike) -> NestMapping:
        """Return the mapping of a vector of shape [D]."""
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

    def loops(self, mapping: NestMapping) -> dict[str, list[str]]:
        """Return the dimensions of the loops of each memory, outermost first."""
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
        orders = range(math.factorial(len(self.extents)))
        for memory, fanouts in self._groups:
            for part in (memory, *fanouts):
                yield Parameter(f"{part.name}_order", "order", orders)
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
                groups.append((self._tiles(index, following), fanouts))
        return groups

    def _tiles(self, index: int, following: int) -> _Part:
        """Return the choices at a memory, which the following one limits."""
        name, sizes = self.hardware.names[index], dict[str, Parameter | int]()
        for dim, extent in self.extents.items():
            values, most = sizes_up_to(extent, self.tiles), self._most(dim, following)
            fitting = values[: bisect_right(values, most)]
            sizes[dim] = 1 if most < 2 else Parameter(tile_name(name, dim), "tile", fitting)
        return _Part(index, name, sizes)

    def _units(self, index: int) -> _Part:
        """Return the choices at a fan-out."""
        name, size = self.hardware.names[index], self._elements[index]["size"]
        return _Part(
            index,
            name,
            {
                dim: Parameter(units_name(name, dim), "cluster", range(1, min(size, extent) + 1))
                for dim, extent in self.extents.items()
            },
        )

    def _most(self, dim: str, index: int) -> float:
        """Return the largest tile that an element could hold: if all others were 1."""
        if index == len(self._elements) or self._elements[index]["pool"] == 0:
            # The MAC holds nothing, and the first memory all.
            return math.inf
        memory = self._elements[index]
        words = [
            width * memory["buffers"] * keeps
            for width, keeps in zip(memory["width"], memory["keeps"], strict=True)
        ]
        loop = DIMS[self._number(dim)]
        grows = [bits * (loop in _LOOPS[t]) for t, bits in zip(TENSORS, words, strict=True)]
        rooms = self._elements[memory["pool"]]["capacity"]
        pairs = zip([*words, sum(words)], [*grows, sum(grows)], rooms, strict=True)
        limits = [(room - bits + each) / each for bits, each, room in pairs if each]
        return max(1, min(limits, default=math.inf))

    @cached_property
    def _elements(self) -> list[dict[str, Any]]:
        return self.hardware.native()[0]

    def _number(self, dim: str) -> int:
        """Return the number of a dimension's loop, an index of ``DIMS``."""
        number = self.evaluator.shape.dim(dim)
        assert number is not None
        return number

    def _spec(self, part: _Part) -> tuple[int, int, list[tuple[int, list[int]]]]:
        """Return an element, the column of its order and its sizes, as the C++ core reads them."""
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
        return part.index, self.columns[f"{part.name}_order"], sizes


def units_name(fanout: str, dim: str) -> str:
    """Return the name of the units of a dimension at a fan-out."""
    return f"{fanout}_units_{dim.rstrip(chr(39))}"
