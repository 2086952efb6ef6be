"""What architecture files of other tools list: fan-outs, memories and compute units."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from maestro_env.accelerators.hierarchy import (
    TENSORS,
    Element,
    FanoutElement,
    Hierarchy,
    MacElement,
    MemoryElement,
)
from maestro_env.base.errors import HardwareError
from maestro_env.base.yaml_file import Part

Place = tuple[str, ...]
"""What a file calls a fan-out."""


@dataclass(frozen=True)
class Node:
    """A node of a file: a memory, a compute unit, or neither.

    Args:
        part: of the file.
        fanouts: that lead to it from the node before, and what the file calls each.
        memory: that it is.
        mac: units that it is.
    """

    part: Part
    fanouts: Sequence[tuple[Place, FanoutElement]] = ()
    memory: MemoryElement | None = None
    mac: MacElement | None = None


def ended(part: Part, nodes: Iterable[Node]) -> Iterator[Node]:
    """Yield the nodes of a file, outermost first, and refuse them unless a compute unit ends them.

    The first memory, main memory, has no limit.

    Raises:
        HardwareError: no compute unit, or something after it.
    """
    has_main = has_mac = False
    for node in nodes:
        if has_mac:
            node.part.fail("stands after the compute unit; a chain ends there")
        memory = node.memory
        if memory and not has_main and memory.capacity_bits is not None:
            part.note(f"the size of main memory {memory.name} is not read; it holds all of a layer")
            node = replace(node, memory=replace(memory, capacity_bits=None))
        yield node
        has_main, has_mac = has_main or memory is not None, node.mac is not None
    if not has_mac:
        part.fail("has no compute unit at its end")


def hierarchy_of_nodes(
    part: Part, nodes: Iterable[Node], name: str, word_bits: int, clock_mhz: float | None
) -> Hierarchy:
    """Return the accelerator of the nodes of a file.

    A memory that keeps nothing is a place for loops. Right above the MACs it is a latch of theirs.

    Raises:
        HardwareError: an accelerator that cannot exist; the message names the part of the file.
    """
    elements: list[Element] = []
    mac = MacElement()
    for node in ended(part, nodes):
        elements += [element for _, element in node.fanouts]
        elements += [_plain(node.memory, word_bits)] if node.memory else []
        mac = node.mac or mac
    last = elements[-1] if elements else None
    if isinstance(last, MemoryElement) and not last.keeps:
        mac = replace(mac, latches=TENSORS)
    try:
        return Hierarchy(elements, mac, word_bits, name, clock_mhz)
    except HardwareError as error:
        part.fail(str(error))


def _plain(memory: MemoryElement, word_bits: int) -> MemoryElement:
    """Return a memory that says no width if its words are those of all."""
    return replace(memory, width_bits=None) if memory.width_bits == word_bits else memory
