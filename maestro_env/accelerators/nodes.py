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

    Raises:
        HardwareError: no compute unit, or something after it.
    """
    has_mac = False
    for node in nodes:
        if has_mac:
            node.part.fail("stands after the compute unit; a chain ends there")
        yield node
        has_mac = node.mac is not None
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
    ends = elements[:1] + elements[-1:]
    if ends and isinstance(ends[0], MemoryElement) and ends[0].capacity_bits is not None:
        part.note(f"the size of main memory {ends[0].name} is not read; it holds all of a layer")
        elements[0] = replace(ends[0], capacity_bits=None)
    if ends and isinstance(ends[1], MemoryElement) and not ends[1].keeps:
        mac = replace(mac, latches=TENSORS)
    try:
        return Hierarchy(elements, mac, word_bits, name, clock_mhz)
    except HardwareError as error:
        part.fail(str(error))


def _plain(memory: MemoryElement, word_bits: int) -> MemoryElement:
    """Return a memory that says no width if its words are those of all."""
    return replace(memory, width_bits=None) if memory.width_bits == word_bits else memory
