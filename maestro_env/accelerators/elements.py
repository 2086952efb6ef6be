"""Elements of an accelerator: memories, spatial fan-outs, MAC units (docs/spec/hierarchy.md H1)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from maestro_env.accelerators.loop_rules import ANY_LOOPS, LoopRules
from maestro_env.base.checks import (
    MAX_INT,
    require_integer,
    require_number,
    require_type,
    tuple_of,
)
from maestro_env.base.errors import HardwareError, quoted

TENSORS = ("input", "filter", "output")
"""The tensors of a layer, in the order that arrays have them."""

_UNLIMITED = float("inf")
_MAX_BITS = 2**53
MAX_WIDTH = 2**20
"""Most bits of a word."""

_MOST_BUFFERS = 1024
_MAX_CYCLES = 2**30
_MOST_PICOJOULES = 1e18
_LEFT_TO_POOL = (
    "capacity_bits",
    "read_bw",
    "write_bw",
    "bw",
    "read_pj_per_bit",
    "write_pj_per_bit",
    "leak_mw",
    "beat_bits",
    "gaps",
    "cache",
)

Sizes = int | Mapping[str, int] | None
"""One number for all tensors, or one for some of them by name; None: no limit, or the default."""


def _flags(what: str, tensors: Collection[str]) -> list[bool]:
    """Return which tensors are named."""
    known = tuple_of(what, tensors, str, f"some of {', '.join(TENSORS)}")
    for each in known:
        if each not in TENSORS:
            raise HardwareError(f"{what} have {quoted(each)}; allowed: {', '.join(TENSORS)}")
    return [tensor in known for tensor in TENSORS]


def _by_tensor(what: str, sizes: Sizes, most: int) -> dict[str, int]:
    """Return the sizes given, by tensor."""
    if sizes is None:
        return {}
    if not isinstance(sizes, Mapping):
        return dict.fromkeys(TENSORS, require_integer(what, sizes, HardwareError, most=most))
    _flags(f"tensors of {what}", sizes)
    return {
        tensor: require_integer(f"{what} of {tensor}", size, HardwareError, most=most)
        for tensor, size in sizes.items()
    }


def _rate(what: str, given: float | None) -> float:
    """Return bits a cycle; None is unlimited."""
    if given is None:
        return _UNLIMITED
    return require_number(what, given, HardwareError, most=float(_MAX_BITS), positive=True)


def require_energy(what: str, given: float) -> float:
    """Return a number of pJ or mW, if it is one."""
    return require_number(what, given, HardwareError, most=_MOST_PICOJOULES)


def _cycles(what: str, given: float) -> float:
    return require_number(what, given, HardwareError, most=float(_MAX_CYCLES))


@dataclass(frozen=True, kw_only=True)
class Cache:
    """A cache in front of a memory, which slows the port down for tensors that exceed it.

    Args:
        bits: a larger tensor misses with every line.
        line_bits: of a line.
        miss_cycles: of the port, for each line that misses.
    """

    bits: int
    line_bits: int
    miss_cycles: float

    def native(self, what: str) -> dict[str, Any]:
        """Return the cache as the C++ core reads it."""
        sizes = {
            key: require_integer(f"{what}: {name}", size, HardwareError, most=_MAX_BITS)
            for key, name, size in (
                ("cache_bits", "bits", self.bits),
                ("line_bits", "line_bits", self.line_bits),
            )
        }
        return {**sizes, "miss_cycles": _cycles(f"{what}: miss_cycles", self.miss_cycles)}


@dataclass(frozen=True, kw_only=True)
class MemoryElement:
    """A memory, or a part of one that has a place of its own in the loop nest.

    Args:
        name: of the element.
        keeps: tensors that it holds; the others bypass it.
        pool: name of an earlier element with the physical memory that this one is a part of. That
            one has the capacity, the ports and the energies of all its parts.
        capacity_bits: of all tensors together, or by tensor.
        width_bits: of a word, of all tensors or by tensor; by default the hierarchy's.
        buffers: how many tiles of each tensor it holds at a time: 1, or 2 to load one meanwhile.
        read_bw: bits a cycle that an instance sends, in and out of the array.
        write_bw: bits a cycle that an instance takes.
        bw: instead of the two, of one port for both ways.
        read_pj_per_bit: energy of a read.
        write_pj_per_bit: energy of a write.
        leak_mw: power that an instance takes at rest; the hierarchy then has a clock.
        forgets: tensors whose whole tile is loaded in every step, whatever was there before.
        beat_bits: of a beat of its port. Words of a tile that follow each other in its layout,
            along C of inputs and K of filters and outputs, take whole beats; 0: no beats.
        gaps: whether its port also moves what lies between the rows and columns of inputs that
            strided or dilated windows of a tile touch.
        cache: in front of it.
        launch_cycles: that every step takes of the port of the next memory outside.
        step_cycles: that a step takes at least.
        load_cycles: that a step takes at least which begins with another tile than the one before.
        finish_cycles: of computing, for each block of outputs that the array makes together, after
            its last MAC; of a memory that keeps outputs.
        refill: share of the first fill that each further tile of outputs of the first memory waits
            for, from 0 to 1; of the first memory.
        rules: of the loops that it can run.
    """

    name: str
    keeps: Collection[str] = TENSORS
    pool: str | None = None
    capacity_bits: Sizes = None
    width_bits: Sizes = None
    buffers: int = 1
    read_bw: float | None = None
    write_bw: float | None = None
    bw: float | None = None
    read_pj_per_bit: float = 0.0
    write_pj_per_bit: float = 0.0
    leak_mw: float = 0.0
    forgets: Collection[str] = ()
    beat_bits: int = 0
    gaps: bool = False
    cache: Cache | None = None
    launch_cycles: float = 0.0
    step_cycles: int = 0
    load_cycles: int = 0
    finish_cycles: float = 0.0
    refill: float = 0.0
    rules: LoopRules = ANY_LOOPS

    def widths(self, word_bits: int) -> list[int]:
        """Return the bits of a word of each tensor; ``word_bits`` where the memory has none."""
        given = _by_tensor(f"memory {self.name}: width_bits", self.width_bits, MAX_WIDTH)
        return [given.get(tensor, word_bits) for tensor in TENSORS]

    def native(self, word_bits: int, pool: int) -> dict[str, Any]:
        """Return the element, whose physical memory has an index, as the C++ core reads it."""
        what = f"memory {self.name}"
        self.rules.check(what, memory=True)
        for tensor in self.rules.stays:
            if tensor not in self.keeps:
                raise HardwareError(
                    f"{what}: stays has {tensor}, which it does not keep; allowed: "
                    f"{', '.join(self.keeps) or 'none'}"
                )
        if self.pool is not None and any(getattr(self, name) for name in _LEFT_TO_POOL):
            raise HardwareError(
                f"{what} is a part of {quoted(self.pool)}; allowed: capacity, bandwidths, beats, "
                "cache and energies there, none here"
            )
        if self.bw is not None and (self.read_bw, self.write_bw) != (None, None):
            raise HardwareError(f"{what} has bw and read_bw or write_bw; allowed: either")
        limits = _by_tensor(f"{what}: capacity_bits", self.capacity_bits, _MAX_BITS)
        shared = not isinstance(self.capacity_bits, Mapping)
        # Of each tensor, and of all together.
        rooms = [float(limits.get(tensor, _UNLIMITED)) for tensor in TENSORS]
        rooms = [*[_UNLIMITED] * 3, rooms[0]] if shared else [*rooms, _UNLIMITED]
        buffers = require_integer(
            f"{what}: buffers", self.buffers, HardwareError, most=_MOST_BUFFERS
        )
        ways = ("read_bw", "write_bw")
        bandwidths = (self.read_bw, self.write_bw) if self.bw is None else (self.bw, self.bw)
        ports = {
            way: _rate(f"{what}: {way if self.bw is None else 'bw'}", given)
            for way, given in zip(ways, bandwidths, strict=True)
        }
        return {
            "name": self.name,
            "keeps": _flags(f"{what}: tensors it keeps", self.keeps),
            "forgets": _flags(f"{what}: tensors it forgets", self.forgets),
            "width": self.widths(word_bits),
            "buffers": buffers,
            "pool": pool,
            "capacity": rooms,
            **ports,
            "one_port": self.bw is not None,
            "read_pj": require_energy(f"{what}: read_pj_per_bit", self.read_pj_per_bit),
            "write_pj": require_energy(f"{what}: write_pj_per_bit", self.write_pj_per_bit),
            **self._pace(what),
        }

    def _pace(self, what: str) -> dict[str, Any]:
        """Return what slows ports and steps down, as the C++ core reads it."""
        cache = {"cache_bits": _UNLIMITED, "line_bits": 1, "miss_cycles": 0.0}
        if self.cache is not None:
            require_type(f"{what}: cache", self.cache, Cache, "such as Cache(bits=...)")
            cache = self.cache.native(f"{what}: cache")
        counts = {
            name: require_integer(f"{what}: {name}", getattr(self, name), HardwareError, 0, most)
            for name, most in (
                ("beat_bits", _MAX_BITS),
                ("step_cycles", _MAX_CYCLES),
                ("load_cycles", _MAX_CYCLES),
            )
        }
        cycles = {
            name: _cycles(f"{what}: {name}", getattr(self, name))
            for name in ("launch_cycles", "finish_cycles")
        }
        if self.finish_cycles and "output" not in self.keeps:
            raise HardwareError(
                f"{what} has finish_cycles, but keeps no outputs; allowed: finish_cycles of a "
                "memory that keeps them"
            )
        refill = require_number(f"{what}: refill", self.refill, HardwareError, most=1.0)
        require_type(f"{what}: gaps", self.gaps, bool, "True or False")
        return {**counts, **cache, **cycles, "refill": refill, "gaps": self.gaps}


@dataclass(frozen=True, kw_only=True)
class FanoutElement:
    """Instances side by side of everything below, along one axis.

    Args:
        name: of the element.
        size: number of instances; None is unlimited.
        axis: along which they stand; of no effect on costs.
        apart: tensors of which every instance is served by itself: inputs and filters without
            multicast, outputs that are not added up on their way.
        pj_per_bit: energy of a word, per bit, that an instance takes in or sends up.
        bw: bits a cycle that cross it, in and out of all its instances together. A word for several
            of them, or added up from them, crosses once, unless they are apart.
        rules: of the loops that it can run.
    """

    name: str
    size: int | None = None
    axis: Literal["X", "Y"] = "X"
    apart: Collection[str] = ()
    pj_per_bit: float = 0.0
    bw: float | None = None
    rules: LoopRules = ANY_LOOPS

    def native(self) -> dict[str, Any]:
        """Return the element as the C++ core reads it."""
        what = f"fan-out {self.name}"
        self.rules.check(what, memory=False)
        if self.axis not in ("X", "Y"):
            raise HardwareError(f"{what}: axis is {quoted(self.axis)}; allowed: X, Y")
        size = MAX_INT if self.size is None else self.size
        return {
            "name": self.name,
            "size": require_integer(f"{what}: size", size, HardwareError),
            "together": [not each for each in _flags(f"{what}: tensors apart", self.apart)],
            "pj": require_energy(f"{what}: pj_per_bit", self.pj_per_bit),
            "bw": _rate(f"{what}: bw", self.bw),
        }


@dataclass(frozen=True, kw_only=True)
class MacElement:
    """The multiply-accumulate units, below the last element.

    Args:
        simd: MACs a cycle of each.
        latches: tensors of which a unit keeps its word for the next step; of the others every MAC
            reads its word from the innermost memory that keeps them.
        pj: energy of a MAC.
    """

    simd: int = 1
    latches: Collection[str] = ()
    pj: float = 0.0

    def native(self) -> dict[str, Any]:
        """Return the units as the C++ core reads them."""
        return {
            "simd": require_integer("simd of a MAC unit", self.simd, HardwareError),
            "latch": _flags("tensors that a MAC unit latches", self.latches),
            "pj": require_energy("pj of a MAC", self.pj),
        }


Element = MemoryElement | FanoutElement
"""What has a place in the loop nest."""
