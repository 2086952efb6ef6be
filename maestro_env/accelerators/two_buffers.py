"""Accelerators with two buffers as memories and fan-outs, and the way back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, replace

from maestro_env.accelerators.elements import (
    TENSORS,
    Element,
    FanoutElement,
    MacElement,
    MemoryElement,
    Sizes,
)
from maestro_env.accelerators.hardware import UNLIMITED, Hardware
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.base.checks import require_integer
from maestro_env.base.errors import HardwareError
from maestro_env.base.yaml_file import Part

WORD_BITS = 8
"""Bits of a word of the accelerators with two buffers, unless they say otherwise."""

# Main memory, L2 and L1; a mapping has up to four levels.
_LEAST, _MOST = 3, 6
_UNLIMITED_BITS = UNLIMITED * WORD_BITS
_LIMITS = ("capacity_bits", "read_bw", "write_bw", "bw")
# Names and energies are not said of two buffers; all tensors are kept, in any order. Rules of loops
# are noted.
_UNSAID = ("name", "keeps", "read_pj_per_bit", "write_pj_per_bit", "rules")


def _bits(words: int) -> int | None:
    """Return a limit in words as one in bits; None is unlimited."""
    return None if words >= UNLIMITED else words * WORD_BITS


def memories_of(hardware: Hardware, units: tuple[int, ...]) -> Hierarchy:
    """Return main memory, L2, buffers of clusters and L1, and a fan-out for each level of units."""
    bandwidth, offchip = _bits(hardware.noc_bw), _bits(hardware.offchip_bw)
    elements: list[Element] = [MemoryElement(name="DRAM", bw=offchip)]
    for level, size in enumerate(units):
        # The buffer of a cluster is pooled from the L1s of its PEs.
        pooled = hardware.l1_bytes * math.prod(units[level:])
        elements += [
            MemoryElement(
                name=f"Cluster{level}" if level else "L2",
                capacity_bits=_bits(pooled if level else hardware.l2_bytes),
                read_bw=bandwidth,
                write_bw=bandwidth,
            ),
            FanoutElement(name=f"Level{level}_X", size=size),
        ]
    elements.append(MemoryElement(name="L1", capacity_bits=_bits(hardware.l1_bytes)))
    return Hierarchy(elements, MacElement(simd=hardware.simd_lanes), WORD_BITS)


def units_below(hierarchy: Hierarchy) -> tuple[int, ...]:
    """Return how many units of the next memory, or MACs, are below one of each memory."""
    units: list[int] = []
    for each in hierarchy.elements:
        if isinstance(each, MemoryElement):
            units.append(1)
        else:
            # Timeloop and AccelForge give every size.
            units[-1] *= each.size or 1
    return tuple(units)


def two_buffers(hierarchy: Hierarchy, part: Part) -> Hardware:
    """Return an accelerator with main memory, L2, buffers of clusters and L1 as a ``Hardware``.

    Raises:
        HardwareError: it has no such form; the message names the part of the file and says why.
    """
    memories = [_limited(each) for each in hierarchy.elements if isinstance(each, MemoryElement)]
    units = units_below(hierarchy)
    if not _LEAST <= len(memories) <= _MOST:
        part.fail(
            f"{len(memories)} memories in a chain; with two buffers there are main memory, L2, "
            f"at most {_MOST - _LEAST} buffers of clusters, and L1"
        )
    if hierarchy.word_bits != WORD_BITS:
        part.fail(f"words of {hierarchy.word_bits} bits; two buffers have words of {WORD_BITS}")
    if units[0] > 1 or units[-1] > 1:
        part.fail(
            f"{units[0]} of what is below {memories[0].name}, and {units[-1]} of what is below "
            f"{memories[-1].name}; with two buffers there is one L2, and one MAC unit below an L1"
        )
    for each in hierarchy.elements:
        if isinstance(each, FanoutElement) and each.apart:
            part.fail(
                f"{each.name} shares no {' or '.join(each.apart)}; with two buffers all are shared"
            )
    pes = require_integer(f"{part.where}: number of PEs", math.prod(units), HardwareError)
    main, l2, *_, l1 = memories
    given = {
        "l1_bytes": l1.capacity_bits,
        "l2_bytes": l2.capacity_bits,
        "noc_bw": l2.read_bw,
        "offchip_bw": main.bw,
    }
    limits = {field: _words(bits, part) for field, bits in given.items() if bits is not None}
    try:
        hardware = Hardware(
            pes,
            simd_lanes=hierarchy.mac.simd,
            name=hierarchy.name,
            clock_mhz=hierarchy.clock_mhz,
            **limits,  # type: ignore[arg-type]
        )
    except HardwareError as error:
        part.fail(str(error))
    ours = memories_of(hardware, units[1:-1]).elements
    nearest = [each for each in ours if isinstance(each, MemoryElement)]
    for there, here in zip(memories, nearest, strict=True):
        _check_alike(there, here, part)
    if any(hierarchy.rules):
        part.note("constraints on loops are not read where an accelerator has two buffers")
    return hardware


def _limited(memory: MemoryElement) -> MemoryElement:
    """Return a memory without limits that are none in the two-buffer form."""
    limits = {name: getattr(memory, name) for name in _LIMITS}
    known = {
        name: None
        for name, limit in limits.items()
        if isinstance(limit, int | float) and limit >= _UNLIMITED_BITS
    }
    return replace(memory, **known)  # type: ignore[arg-type]


def _words(bits: Sizes | float, part: Part) -> int:
    if isinstance(bits, Mapping) or bits is None or bits % WORD_BITS:
        part.fail(f"{bits} bits are no words of {WORD_BITS}, in all or a cycle")
    return int(bits) // WORD_BITS


def _check_alike(there: MemoryElement, here: MemoryElement, part: Part) -> None:
    """Refuse a memory that says something else than the two-buffer form in its place."""
    if set(there.keeps) < set(TENSORS):
        part.fail(f"{there.name} does not keep all tensors; of two buffers each does")
    for name in (field.name for field in fields(here) if field.name not in _UNSAID):
        said, ours = getattr(there, name), getattr(here, name)
        if said != ours:
            part.fail(
                f"{there.name} has {name} {_shown(said)}; in the two-buffer form that comes "
                f"nearest it has {_shown(ours)}"
            )


def _shown(value: object) -> str:
    return "none" if value is None else str(value)
