"""What a technology makes of an accelerator with any memories: its energies and its area."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from maestro_env.accelerators.elements import TENSORS, Element, FanoutElement, MemoryElement
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.accelerators.technologies import TECHNOLOGIES
from maestro_env.accelerators.technology import Technology
from maestro_env.base.errors import HardwareError

# By bits of a word: technologies with energies of network and main memory.
_USUAL = {8: "cmos40", 16: "cmos40-16bit"}


def with_energies(hierarchy: Hierarchy, technology: Technology) -> Hierarchy:
    """Return an accelerator with the energies of a technology where it has none of its own.

    The first memory costs what off-chip words do. Memories of which there are several, below a
    fan-out, cost what L1 does, and the others what L2 does, by their capacity if the technology
    knows it, and leak if the technology says so. Fan-outs cost a hop of the network. A bit costs
    its share of a word.

    Raises:
        HardwareError: words of another size than the technology's; a memory without limit where
            energies are by size; leakage without ``clock_mhz``.
    """
    _check_words(hierarchy, technology)
    mac_pj = 1000 * technology.mac_nj
    elements = [
        _with_energy(element, units, index == 0, technology, mac_pj / hierarchy.word_bits)
        for index, (element, units) in enumerate(hierarchy.counted())
    ]
    mac = replace(hierarchy.mac, pj=hierarchy.mac.pj or mac_pj)
    return replace(hierarchy, elements=elements, mac=mac)


def with_usual_energies(hierarchy: Hierarchy) -> Hierarchy:
    """Return an accelerator without energies with those that commands give it.

    They are of a technology of its words, which the name then says. None has them where the
    technology does not know all of its memories.
    """
    technology = TECHNOLOGIES.get(_USUAL.get(hierarchy.word_bits, ""))
    if has_energies(hierarchy) or technology is None:
        return hierarchy
    try:
        return priced(hierarchy, technology)
    except HardwareError:
        return hierarchy


def priced(hierarchy: Hierarchy, technology: Technology) -> Hierarchy:
    """Return the same, with a name that says which technology it is."""
    name = f"{hierarchy.name or 'hardware'} with {technology.name or 'given'} energies"
    where = " where it has none" if has_energies(hierarchy) else ""
    return replace(with_energies(hierarchy, technology), name=name + where)


def has_energies(hierarchy: Hierarchy) -> bool:
    """Say whether an accelerator has any energy of its own."""
    energies = ("read_pj_per_bit", "write_pj_per_bit", "pj_per_bit")
    return hierarchy.mac.pj > 0 or any(
        getattr(element, name, 0.0) > 0 for element in hierarchy.elements for name in energies
    )


def area_um2(hierarchy: Hierarchy, technology: Technology) -> float:
    """Return the area of all MACs and of all instances of all memories but the first.

    Raises:
        HardwareError: a technology without areas, or of words of another size; a memory or a
            fan-out without limit.
    """
    if technology.mac_um2 is None:
        raise HardwareError(
            f"{technology.label} has no areas; allowed: one with mac_um2, register_um2 and sram_um2"
        )
    _check_words(hierarchy, technology)
    area, macs = 0.0, float(hierarchy.mac.simd)
    for element, units in hierarchy.counted():
        if isinstance(element, FanoutElement):
            if element.size is None:
                raise HardwareError(f"fan-out {element.name} has no limit; allowed: a size")
            macs *= element.size
        elif element is not hierarchy.elements[0] and element.pool is None:
            capacity = _bytes(element)
            area += units * 8 * capacity * technology.bit_um2(math.ceil(capacity))
    return area + macs * technology.mac_um2


def _check_words(hierarchy: Hierarchy, technology: Technology) -> None:
    word_bytes = technology.word_bytes
    if word_bytes is not None and hierarchy.word_bits != 8 * word_bytes:
        raise HardwareError(
            f"word_bits of {hierarchy.name or 'the accelerator'} is {hierarchy.word_bits}, but "
            f"{technology.label} is of words of {word_bytes} B; allowed: {8 * word_bytes}"
        )


def _with_energy(
    element: Element, units: float, first: bool, technology: Technology, bit_pj: float
) -> Element:
    if isinstance(element, FanoutElement):
        return replace(element, pj_per_bit=element.pj_per_bit or technology.noc_macs * bit_pj)
    if element.pool is not None or element.read_pj_per_bit or element.write_pj_per_bit:
        return element
    macs = technology.offchip_macs if first else _access_macs(element, units, technology)
    bits = 0.0 if first or technology.leak_nw is None else 8 * _bytes(element)
    return replace(
        element,
        read_pj_per_bit=macs * bit_pj,
        write_pj_per_bit=macs * bit_pj,
        leak_mw=element.leak_mw or bits * (technology.leak_nw or 0.0) / 1e6,
    )


def _access_macs(element: MemoryElement, units: float, technology: Technology) -> float:
    buffer = "l1" if units > 1 else "l2"
    sized = buffer in technology.by_size or technology.register_macs is not None
    return technology.access_macs(buffer, math.ceil(_bytes(element)) if sized else 0)


def _bytes(memory: MemoryElement) -> float:
    """Return the capacity of a memory for all tensors that it keeps."""
    given = memory.capacity_bits
    if isinstance(given, Mapping):
        sizes = [given.get(tensor) for tensor in TENSORS if tensor in memory.keeps]
    else:
        sizes = [given]
    if None in sizes:
        raise HardwareError(f"memory {memory.name} has no limit; allowed: a capacity_bits")
    return sum(size for size in sizes if size is not None) / 8
