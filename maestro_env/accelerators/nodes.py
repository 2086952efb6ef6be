"""What architecture files of other tools list: fan-outs, memories and compute units."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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


@dataclass(frozen=True)
class Node:
    """A node of a file: a memory, a compute unit, or neither.

    Args:
        part: of the file.
        fanouts: that lead to it from the node before.
        memory: that it is.
        mac: units that it is.
    """

    part: Part
    fanouts: Sequence[FanoutElement] = ()
    memory: MemoryElement | None = None
    mac: MacElement | None = None


def hierarchy_of_nodes(
    part: Part, nodes: Iterable[Node], name: str, word_bits: int, clock_mhz: float | None
) -> Hierarchy:
    """Return the accelerator of the nodes of a file, outermost first; a compute unit ends them.

    The first memory, main memory, has no limit. A memory that keeps nothing is a place for loops.
    Right above the MACs it is a latch of theirs.

    Raises:
        HardwareError: an accelerator that cannot exist; the message names the part of the file.
    """
    elements: list[Element] = []
    mac: MacElement | None = None
    for node in nodes:
        if mac:
            node.part.fail("stands after the compute unit; a chain ends there")
        # One main memory is one, whatever leads to it.
        elements += [each for each in node.fanouts if elements or each.size != 1]
        if memory := node.memory:
            if memory.width_bits == word_bits:
                memory = replace(memory, width_bits=None)
            if memory.capacity_bits is not None and not elements:
                part.note(
                    f"the size of main memory {memory.name} is not read; it holds all of a layer"
                )
                memory = replace(memory, capacity_bits=None)
            elements.append(memory)
        mac = node.mac
    if not mac:
        part.fail("has no compute unit at its end")
    last = elements[-1] if elements else None
    if isinstance(last, MemoryElement) and not last.keeps:
        mac = replace(mac, latches=TENSORS)
    try:
        return Hierarchy(elements, mac, word_bits, name, clock_mhz)
    except HardwareError as error:
        part.fail(str(error))
