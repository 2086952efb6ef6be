"""How full the memories of an accelerator with any memories are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from maestro_env.accelerators.hierarchy import Hierarchy, MemoryElement
from maestro_env.hierarchy.evaluation import HierarchyCost


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
