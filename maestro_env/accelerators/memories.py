"""An accelerator as a chain of memories: what other tools say, and what fits ours."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from maestro_env.accelerators.hardware import UNLIMITED, Hardware
from maestro_env.accelerators.hierarchy import TENSORS, FanoutElement, MemoryElement
from maestro_env.accelerators.nodes import Node, Place, ended
from maestro_env.base.checks import require_integer
from maestro_env.base.errors import HardwareError, quoted
from maestro_env.base.yaml_file import Part

WORD_BITS = 8
"""Bits of a word of the accelerators that are chains."""

# Memories of a chain: a mapping has up to four levels.
_LEAST, _MOST = 3, 6


@dataclass(frozen=True)
class Memory:
    """A memory of the chain; None is unlimited.

    Args:
        name: in the file.
        words: capacity.
        reads: words per cycle that it sends inwards.
        writes: words per cycle that it takes from inside.
        shared: words per cycle, of both together.
        fanout: units of the next inner memory, or of the MAC, below one of this.
    """

    name: str
    words: int | None = None
    reads: int | None = None
    writes: int | None = None
    shared: int | None = None
    fanout: int = 1


@dataclass(frozen=True)
class Chain:
    """What a file says of an accelerator.

    Args:
        memories: outermost first, with the units below each.
        places: for each memory, what the file calls the fan-outs below it.
        lanes: MACs of a unit in a cycle.
        part: of the file.
    """

    memories: list[Memory]
    places: list[list[Place]]
    lanes: int
    part: Part

    @property
    def names(self) -> list[str]:
        """Names of the memories."""
        return [memory.name for memory in self.memories]


def _limit(value: int) -> int | None:
    """Return a limit of ours as that of a memory."""
    return None if value >= UNLIMITED else value


def chain_of(part: Part, nodes: Iterable[Node]) -> Chain:
    """Return the chain of the nodes of a file, outermost first; a compute unit ends it."""
    memories: list[Memory] = []
    places: list[list[Place]] = []
    fanouts: list[tuple[Place, FanoutElement]] = []
    lanes = 1
    for node in ended(part, nodes):
        fanouts += node.fanouts
        if not node.memory and not node.mac:
            continue
        units = _units([fanout for _, fanout in fanouts], node.part)
        if memories:
            memories[-1] = replace(memories[-1], fanout=units)
            # Two axes of an array have one name.
            places.append([*dict.fromkeys(place for place, _ in fanouts)])
        elif units > 1:
            node.part.fail(f"{units} main memories; allowed: one")
        memories += [_memory(node.memory, node.part)] if node.memory else []
        fanouts, lanes = [], node.mac.simd if node.mac else lanes
    return Chain(memories, places, lanes, part)


def _memory(memory: MemoryElement, part: Part) -> Memory:
    """Return a memory in words of all tensors, or refuse one that has others."""
    if set(memory.keeps) < set(TENSORS):
        part.fail("does not keep all tensors; every tensor of ours passes every memory")
    if memory.width_bits not in (None, WORD_BITS):
        part.fail(f"has words of {memory.width_bits} bits; a word of ours has {WORD_BITS} bits")
    if memory.buffers > 1 or memory.forgets:
        part.fail("has several buffers or forgets tensors, which no memory of ours does")

    def words(bits: Any) -> int | None:
        if bits is not None and bits % WORD_BITS:
            part.fail(f"{bits:g} bits are no words of {WORD_BITS}, in all or a cycle")
        return None if bits is None else int(bits) // WORD_BITS

    reads, writes, shared = map(words, (memory.read_bw, memory.write_bw, memory.bw))
    return Memory(memory.name, words(memory.capacity_bits), reads, writes, shared)


def _units(fanouts: Sequence[FanoutElement], part: Part) -> int:
    """Return how many units there are below some fan-outs, or refuse a number too large."""
    units = 1
    for fanout in fanouts:
        if fanout.apart:
            part.fail(
                f"{fanout.name} shares no {' or '.join(fanout.apart)}; a fan-out of ours does"
            )
        # Timeloop and AccelForge give every size.
        size = units * (fanout.size or 1)
        units = require_integer(f"{part.where}: number of units", size, HardwareError)
    return units


def memories_of(hardware: Hardware, units: tuple[int, ...]) -> list[Memory]:
    """Return main memory, L2, cluster buffers and L1, for levels of some units each."""
    bandwidth, l1 = _limit(hardware.noc_bw), _limit(hardware.l1_bytes)
    chain = [
        Memory("DRAM", shared=_limit(hardware.offchip_bw)),
        Memory("L2", _limit(hardware.l2_bytes), bandwidth, bandwidth, fanout=units[0]),
    ]
    for index, fanout in enumerate(units[1:], start=1):
        # The buffer of a cluster is pooled from the L1s of its PEs.
        words = None if l1 is None else l1 * math.prod(units[index:])
        chain.append(Memory(f"Cluster{index}", words, bandwidth, bandwidth, fanout=fanout))
    return [*chain, Memory("L1", l1)]


def hardware_of(chain: Chain, name: str = "") -> Hardware:
    """Return the accelerator of a chain of memories.

    Raises:
        HardwareError: it is none of ours; the message says why.
    """
    memories, part = chain.memories, chain.part
    if not _LEAST <= len(memories) <= _MOST:
        part.fail(
            f"{len(memories)} memories in a chain; ours has main memory, L2, at most "
            f"{_MOST - _LEAST} buffers of clusters, and L1"
        )
    called = Counter([*chain.names, *(place for places in chain.places for place in places)])
    most_used, count = called.most_common(1)[0]
    if count > 1:
        part.fail(f"{count} nodes are called {quoted(most_used)}")
    main, l2, *_, l1 = memories
    units = [each.fanout for each in memories]
    pes = require_integer(f"{part.where}: number of PEs", math.prod(units), HardwareError)
    given = {
        "l1_bytes": l1.words,
        "l2_bytes": l2.words,
        "noc_bw": l2.reads,
        "offchip_bw": main.shared,
    }
    limits = {field: value for field, value in given.items() if value is not None}
    try:
        hardware = replace(Hardware(pes, simd_lanes=chain.lanes, name=name), **limits)  # type: ignore[arg-type]
    except HardwareError as error:
        part.fail(str(error))
    for there, here in zip(memories, memories_of(hardware, tuple(units[1:-1])), strict=True):
        if _limits(there) != _limits(here):
            part.fail(
                f"{there.name} has {_shown(there)}; in the accelerator of ours that comes nearest "
                f"it has {_shown(here)}"
            )
    return hardware


def _limits(memory: Memory) -> tuple[int, ...]:
    values = (memory.words, memory.reads, memory.writes, memory.shared)
    return (*(min(value or UNLIMITED, UNLIMITED) for value in values), memory.fanout)


def _shown(memory: Memory) -> str:
    values = {
        "words": memory.words,
        "reads a cycle": memory.reads,
        "writes a cycle": memory.writes,
        "reads and writes a cycle together": memory.shared,
    }
    limits = [f"{value} {what}" for what, value in values.items() if value is not None]
    return f"{', '.join(limits) or 'no limits'}, and {memory.fanout} of the next below it"
