"""The nest below the outermost memory that the search for optimal tiles takes as given (H11)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maestro_env.accelerators.hierarchy import FanoutElement, Hierarchy, MemoryElement
from maestro_env.base.errors import HardwareError
from maestro_env.hierarchy.shape import DIMS

LOOPS = ("K", "P", "C")
"""Dimensions of a matrix product: those that inputs, filters and outputs lack, in this order."""

_P = LOOPS.index("P")
# By number of LOOPS: which a fan-out cuts first, and the feeder's loops, from outside.
_PREFERRED = (2, 0, 1)
_FEEDER = (0, 2, 1)

Tiles = NDArray[np.int64]


class InnerNest:
    """Blocks that fill the fan-outs, and are worked on one after the other.

    Attributes:
        feeder: the last memory before the first fan-out, which cuts tiles into blocks.
        sweeper: the memory with the loop over P, during which the filters stay: the last one, if
            memories below the feeder keep filters alone and no fan-out cuts P; else the feeder.

    Args:
        hierarchy: the accelerator.
        extents: int64[3], of ``LOOPS``.

    Raises:
        HardwareError: no memory but the outermost comes before the fan-outs.
    """

    def __init__(self, hierarchy: Hierarchy, extents: Tiles) -> None:
        elements, mac = hierarchy.native()
        fanouts = [
            e for e, each in enumerate(hierarchy.elements) if isinstance(each, FanoutElement)
        ]
        self.feeder = min(fanouts, default=len(elements)) - 1
        if self.feeder == 0:
            raise HardwareError(
                f"{hierarchy.names[0]} is the only memory before the fan-outs; allowed: another "
                "one below it, whose loops cut tiles into blocks"
            )
        self._cuts: dict[int, int] = {}
        for fanout in fanouts:
            self._cuts[fanout] = self._cut_by(elements[fanout]["together"])
        self.sweeper = self._find_sweeper(hierarchy)
        # Below the last element, a unit has as many channels as it can work on in a cycle.
        block = [1, 1, min(mac["simd"], int(extents[2]))]
        self._blocks = [block]
        for element in reversed(range(len(elements))):
            block = list(block)
            if element in self._cuts:
                dim = self._cuts[element]
                block[dim] = min(block[dim] * elements[element]["size"], int(extents[dim]))
            self._blocks.insert(0, block)

    def _cut_by(self, together: list[bool]) -> int:
        """Return the dimension of a fan-out: one whose units share words, and least often cut."""
        shared = [dim for dim in _PREFERRED if together[dim]] or _PREFERRED
        taken = list(self._cuts.values())
        return min(shared, key=taken.count)

    def _find_sweeper(self, hierarchy: Hierarchy) -> int:
        keeps = {
            e: each.keeps
            for e, each in enumerate(hierarchy.elements)
            if isinstance(each, MemoryElement) and e > self.feeder
        }
        only_filters = all(kept == ("filter",) for kept in keeps.values())
        return (
            max(keeps) if keeps and only_filters and _P not in self._cuts.values() else self.feeder
        )

    def inside_feeder(self, dim: int) -> list[int]:
        """Return the dimensions of the feeder's loops inside one of them."""
        return list(_FEEDER[_FEEDER.index(dim) + 1 :])

    def block(self, element: int) -> Tiles:
        """Return the largest box that the units below an element make together, int64[3]."""
        return np.array(self._blocks[element + 1])

    def box(self, element: int, tiles: Tiles) -> Tiles:
        """Return the largest box that an element gets, int64[n, 3], of tiles, int64[n, 3].

        Below the feeder, P is that of blocks: memories in front of the sweeper keep no tensor of P.
        """
        return tiles if element <= self.feeder else np.minimum(tiles, self.block(element))

    def rows(self, tiles: Tiles, orders: Tiles) -> NDArray[np.int32]:
        """Return mappings as a batch, int32[n, L, 3].

        Args:
            tiles: of the outermost memory, int64[n, 3], by dimension of ``LOOPS``.
            orders: of its loops, from outside, int64[n, 3].
        """
        numbers = np.array([DIMS.index(dim) for dim in LOOPS])
        outer = np.zeros((len(tiles), len(LOOPS), 3), np.int32)
        outer[:, :, 1] = numbers[orders]
        outer[:, :, 2] = np.take_along_axis(tiles, orders, axis=1)
        loops = [
            (self.sweeper if dim == _P else self.feeder, dim, self.block(self.feeder)[dim])
            for dim in _FEEDER
        ]
        loops += [(fanout, dim, self.block(fanout)[dim]) for fanout, dim in self._cuts.items()]
        # By element; those of one keep their order.
        loops.sort(key=lambda loop: loop[0])
        inner = np.array([(e, numbers[dim], tile) for e, dim, tile in loops], np.int32)
        return np.concatenate([outer, np.tile(inner, (len(tiles), 1, 1))], axis=1)
