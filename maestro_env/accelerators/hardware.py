"""Accelerators: PEs, networks-on-chip, buffers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, fields
from functools import cached_property
from typing import Any, ClassVar

from maestro_env import _native
from maestro_env.accelerators.accelerator import Accelerator
from maestro_env.accelerators.technologies import DEFAULT, find_technology, technology_text
from maestro_env.accelerators.technology import Areas, Energies, Technology
from maestro_env.base.checks import MAX_INT, by_name, require_integer, require_name, require_number
from maestro_env.base.errors import HardwareError
from maestro_env.base.pickling import Recomputed

UNLIMITED = 2**30
"""Bandwidth (words/cycle) and buffer size (bytes) GAMMA and ArchGym call unlimited."""

LATER: Mapping[str, object] = {"technology": DEFAULT, "word_bytes": 1, "clock_mhz": None}
"""Fields of ``Hardware`` that older records lack, and what they had."""

# What decides no cost, or only through the energies.
_NO_FIGURES = ("name", "clock_mhz", "technology", "offchip_cost_macs")


def least_of(field: str) -> int:
    """Return the least value of a field of integers."""
    return 0 if field in ("noc_hops", "noc_hop_latency") else 1


@dataclass(frozen=True)
class Hardware(Recomputed, Accelerator):
    """An accelerator.

    Args:
        num_pes: processing elements, each with its own L1.
        l1_bytes: capacity of one PE's L1.
        l2_bytes: capacity of the shared L2.
        noc_bw: words per cycle of the network-on-chip of every level.
        offchip_bw: words per cycle between L2 and main memory.
        noc_hops: average hops of a transfer.
        noc_hop_latency: cycles per hop.
        simd_lanes: MACs of one PE per cycle.
        offchip_cost_macs: energy of a word between L2 and main memory, in MACs, at most 1e9. Read
            by the exact model only; 200 is the ratio of Eyeriss (Chen et al., ISCA 2016).
        name: in tables and files, at most 200 characters.
        technology: energy of everything else, and of off-chip words where ``offchip_cost_macs`` is
            0; also what ``find_technology`` takes. Read by the exact model only.
        word_bytes: bytes of a word of every tensor: capacities and areas are in bytes, bandwidths
            in words. Read by the exact model only.
        clock_mhz: for reports; None where it is unknown.

    Raises:
        ArgumentTypeError: an argument of a wrong type.
        HardwareError: a value out of range.
    """

    MODEL: ClassVar[str] = "exact"

    num_pes: int
    l1_bytes: int = UNLIMITED
    l2_bytes: int = UNLIMITED
    noc_bw: int = UNLIMITED
    offchip_bw: int = UNLIMITED
    noc_hops: int = 1
    noc_hop_latency: int = 1
    simd_lanes: int = 1
    name: str = ""
    offchip_cost_macs: float = 0.0
    technology: Technology = DEFAULT
    word_bytes: int = 1
    clock_mhz: float | None = None

    def __post_init__(self) -> None:
        require_name("a hardware's name", self.name, HardwareError, "such as edge")
        label = f"hardware {self.name or 'given'}"
        for name in (field.name for field in fields(self) if field.type == "int"):
            value = getattr(self, name)
            number = require_integer(f"{label}: {name}", value, HardwareError, least_of(name))
            object.__setattr__(self, name, number)
        most = _native.MAX_ENERGY
        require_number(f"{label}: offchip_cost_macs", self.offchip_cost_macs, HardwareError, most)
        if self.clock_mhz is not None:
            what = f"{label}: clock_mhz"
            require_number(what, self.clock_mhz, HardwareError, MAX_INT, positive=True)
        if self.noc_latency > MAX_INT:
            raise HardwareError(f"noc_hops x noc_hop_latency is {self.noc_latency}; make it less")
        object.__setattr__(self, "technology", find_technology(self.technology))
        self._check_energies(label)

    def _check_energies(self, label: str) -> None:
        technology = self.technology
        if technology.offchip_macs and self.offchip_cost_macs:
            raise HardwareError(
                f"{label}: offchip_cost_macs is {self.offchip_cost_macs} beside technology "
                f"{technology.name}, which has its own; allowed: 0"
            )
        if technology.word_bytes not in (None, self.word_bytes):
            raise HardwareError(
                f"{label}: word_bytes is {self.word_bytes}, but technology {technology.name} has "
                f"energies of words of {technology.word_bytes} B; allowed: {technology.word_bytes}"
            )
        if technology.leak_nw:
            raise HardwareError(
                f"{label}: technology {technology.name} has leak_nw, which cost models of two "
                "buffers do not count; allowed: an accelerator with memories"
            )
        for buffer in technology.by_size:
            if getattr(self, f"{buffer}_bytes") >= UNLIMITED:
                raise HardwareError(
                    f"{label}: {buffer}_bytes is unlimited, but technology {technology.name} has "
                    f"energies by size; allowed: less than {UNLIMITED}"
                )
        if self.energies.noc_macs > _native.MAX_ENERGY:
            raise HardwareError(f"{label}: noc_hops x noc_macs is more than {_native.MAX_ENERGY:g}")

    @property
    def noc_latency(self) -> int:
        """Cycles a transfer spends on the way."""
        return self.noc_hops * self.noc_hop_latency

    @property
    def peak_macs_per_cycle(self) -> int:
        """MACs a cycle of all PEs together."""
        return self.num_pes * self.simd_lanes

    @property
    def deciding(self) -> tuple[float, ...]:
        return (
            *(self.num_pes, self.l1_bytes, self.l2_bytes, self.noc_bw, self.offchip_bw),
            *(self.noc_latency, self.simd_lanes, self.word_bytes, *astuple(self.energies)),
        )

    def area_um2(self, l1_bytes: float, l2_bytes: float) -> float:
        """Return the area with so much L1 in every PE and so much L2, as figures of mappings do.

        That is the area of MACs and buffers in the technology. Of one without areas, it is that of
        PEs and whole blocks of buffers, as GAMMA and ArchGym count.
        """
        return _native.buffered_area_um2(self.native, l1_bytes, l2_bytes)

    @property
    def native(self) -> _native.Hardware:
        """The accelerator as the C++ core holds it."""
        # Kept, it would lie between the blocks of a search, whose memory could not be used again:
        # 50 kB for each accelerator of a sweep.
        return _native.Hardware(
            num_pes=self.num_pes,
            simd_lanes=self.simd_lanes,
            noc_bw=self.noc_bw,
            noc_latency=self.noc_latency,
            offchip_bw=self.offchip_bw,
            l1_bytes=self.l1_bytes,
            l2_bytes=self.l2_bytes,
            word_bytes=self.word_bytes,
            **vars(self.energies),
            **vars(self.areas),
        )

    @cached_property
    def energies(self) -> Energies:
        """What a MAC, an access and a word cost on this accelerator."""
        technology = self.technology
        return Energies(
            mac_nj=technology.mac_nj,
            l1_macs=technology.access_macs("l1", self.l1_bytes),
            l2_macs=technology.access_macs("l2", self.l2_bytes),
            noc_macs=technology.noc_macs * self.noc_hops,
            offchip_macs=technology.offchip_macs or self.offchip_cost_macs,
        )

    @cached_property
    def areas(self) -> Areas:
        """What a PE without buffers and a byte of each buffer take up on this accelerator."""
        technology = self.technology
        if technology.mac_um2 is None:
            return Areas()
        return Areas(
            technology.mac_um2 * self.simd_lanes,
            8 * technology.bit_um2(self.l1_bytes),
            8 * technology.bit_um2(self.l2_bytes),
        )

    def record(self) -> dict[str, Any]:
        """Return the fields as records hold them; ``Hardware(**record)`` reads them back.

        Fields that older records lack stand in it only where they are not the default.
        """
        said = {name: getattr(self, name) for name in self._said}
        return said | {"technology": asdict(self.technology)} if "technology" in said else said

    def text(self) -> str:
        """Return what differs from the defaults, as ``find_hardware`` reads it, and the name."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        default = {field.name: field.default for field in fields(self)}
        name = given.pop("name")
        changed = {key: value for key, value in given.items() if value != default[key]}
        if "technology" in changed:
            changed["technology"] = technology_text(self.technology)
        text = ",".join(f"{key}={value}" for key, value in changed.items())
        return text if name == text else f"{text},name={name}"

    def __repr__(self) -> str:
        # Random streams of searches follow from it: it is what it was before there were these.
        said = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._said)
        return f"Hardware({said})"

    @property
    def _said(self) -> list[str]:
        names = [field.name for field in fields(self)]
        return [n for n in names if n not in LATER or getattr(self, n) != LATER[n]]


PRESETS: Mapping[str, Hardware] = by_name(
    Hardware(num_pes=1024, name="unlimited"),
    Hardware(168, 512, 108_000, noc_bw=64, offchip_bw=16, name="edge"),
    Hardware(65_536, 512, 24 * 2**20, noc_bw=1024, offchip_bw=49, name="cloud"),
)
"""Accelerators by name.

``unlimited`` is what GAMMA (its default arguments) and ArchGym (its MAESTRO environment) evaluate.
``edge`` has the PEs and buffers of Eyeriss (Chen et al., JSSC 2017), ``cloud`` those of the TPU v1:
256 x 256 MACs, a unified buffer of 24 MiB, and 34 GB/s of DDR3 at 700 MHz, 49 B/cycle (Jouppi et
al., ISCA 2017).
"""

DESCRIPTIONS: Mapping[str, str] = {
    "unlimited": "1,024 PEs; buffers, networks and off-chip bandwidth without limit",
    "edge": "Eyeriss class: 168 PEs, 512 B of L1 each, 108 kB of L2, 64 words/cycle on every "
    "network, 16 off-chip",
    "cloud": "TPU v1 class: 65,536 PEs, 512 B of L1 each, 24 MiB of L2, 1,024 words/cycle on "
    "every network, 49 off-chip",
}
"""What each preset is, in one line."""

ALIASES: Mapping[str, str] = {"paper": "unlimited"}
"""Older names of presets, accepted wherever a name is."""


def hardware_distance(one: Hardware, other: Hardware) -> float:
    """Return how far two accelerators are apart: the Euclidean distance of log2(1 + figure)."""
    return math.dist(hardware_octaves(one), hardware_octaves(other))


def hardware_octaves(hardware: Hardware) -> list[float]:
    """Return log2(1 + figure) of all figures that decide what a mapping costs."""
    names = (field.name for field in fields(Hardware) if field.name not in _NO_FIGURES)
    figures = [*(getattr(hardware, name) for name in names), *asdict(hardware.energies).values()]
    return [math.log2(1 + figure) for figure in figures]
