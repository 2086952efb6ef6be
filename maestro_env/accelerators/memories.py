"""An accelerator as a chain of memories: what other tools say, and what fits ours."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from maestro_env.accelerators.hardware import UNLIMITED, Hardware
from maestro_env.base.checks import require_integer
from maestro_env.base.errors import HardwareError, quoted
from maestro_env.base.yaml_file import Part

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


FanoutName = tuple[str, ...]
"""What a file calls a fan-out."""


@dataclass(frozen=True)
class Link:
    """A node of a file: a memory, a compute unit, or neither.

    Args:
        part: of the file.
        fanouts: that lead to it from the node before, and how many units each has.
        memory: that it is.
        lanes: MACs of the compute unit in a cycle.
    """

    part: Part
    fanouts: Sequence[tuple[FanoutName, int]]
    memory: Memory | None = None
    lanes: int | None = None


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
    places: list[list[FanoutName]]
    lanes: int
    part: Part

    @property
    def names(self) -> list[str]:
        """Names of the memories."""
        return [memory.name for memory in self.memories]


def _limit(value: int) -> int | None:
    """Return a limit of ours as that of a memory."""
    return None if value >= UNLIMITED else value


def chain_of(part: Part, links: Iterable[Link]) -> Chain:
    """Return the chain of the nodes of a file, outermost first; a compute unit ends it."""
    memories: list[Memory] = []
    places: list[list[FanoutName]] = []
    fanouts: list[tuple[FanoutName, int]] = []
    lanes = None
    for link in links:
        if lanes is not None:
            link.part.fail("stands after the compute unit; a chain ends there")
        fanouts += link.fanouts
        if not link.memory and not link.lanes:
            continue
        units = _units(fanouts, link.part)
        if memories:
            memories[-1] = replace(memories[-1], fanout=units)
            places.append([place for place, _ in fanouts])
        elif units > 1:
            link.part.fail(f"{units} main memories; allowed: one")
        memories += [link.memory] if link.memory else []
        fanouts, lanes = [], link.lanes
    if lanes is None:
        part.fail("has no compute unit at its end")
    return Chain(memories, places, lanes, part)


def _units(fanouts: Sequence[tuple[FanoutName, int]], part: Part) -> int:
    """Return how many units there are below some fan-outs, or refuse a number too large."""
    units = 1
    for _, count in fanouts:
        units = require_integer(f"{part.where}: number of units", units * count, HardwareError)
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
