"""The accelerator: PEs, networks-on-chip, buffers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from maestro_env import _native
from maestro_env.errors import HardwareError, UnknownNameError
from maestro_env.m_file import ReferenceDeath, parse_hardware

UNLIMITED = 2**30
"""Bandwidth (words/cycle) and buffer size (bytes) GAMMA and ArchGym call unlimited."""

_MAX_INT = 2**31 - 1


@dataclass(frozen=True)
class Hardware:
    """An accelerator; a word is one byte.

    Args:
        num_pes: processing elements, each with its own L1.
        l1_bytes: capacity of one PE's L1.
        l2_bytes: capacity of the shared L2.
        noc_bw: words per cycle of the network-on-chip of every level.
        offchip_bw: words per cycle between L2 and main memory.
        noc_hops: average hops of a transfer.
        noc_hop_latency: cycles per hop.
        simd_lanes: MACs of one PE per cycle.
        name: what tables and files call it.

    Raises:
        HardwareError: a value out of range.
    """

    num_pes: int
    l1_bytes: int = UNLIMITED
    l2_bytes: int = UNLIMITED
    noc_bw: int = UNLIMITED
    offchip_bw: int = UNLIMITED
    noc_hops: int = 1
    noc_hop_latency: int = 1
    simd_lanes: int = 1
    name: str = ""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            least = 0 if field.name in ("noc_hops", "noc_hop_latency") else 1
            if field.type == "int" and not (
                isinstance(value, int)
                and not isinstance(value, bool)
                and least <= value <= _MAX_INT
            ):
                raise HardwareError(
                    f"hardware {self.name or 'given'}: {field.name} is {value!r}; "
                    f"allowed: integers from {least} to {_MAX_INT}"
                )
        if self.noc_latency > _MAX_INT:
            raise HardwareError(f"noc_hops x noc_hop_latency is {self.noc_latency}; make it less")

    @property
    def noc_latency(self) -> int:
        """Cycles a transfer spends on the way."""
        return self.noc_hops * self.noc_hop_latency

    @property
    def peak_macs_per_cycle(self) -> int:
        return self.num_pes * self.simd_lanes

    @cached_property
    def native(self) -> _native.Hardware:
        """The accelerator as the C++ core holds it."""
        return _native.Hardware(
            num_pes=self.num_pes,
            simd_lanes=self.simd_lanes,
            noc_bw=self.noc_bw,
            noc_latency=self.noc_latency,
            offchip_bw=self.offchip_bw,
            l1_bytes=self.l1_bytes,
            l2_bytes=self.l2_bytes,
        )


PRESETS: Mapping[str, Hardware] = MappingProxyType(
    {
        hardware.name: hardware
        for hardware in (
            Hardware(num_pes=1024, name="paper"),
            Hardware(168, 512, 108_000, noc_bw=64, offchip_bw=16, name="edge"),
            Hardware(65_536, 512, 24 * 2**20, noc_bw=1024, offchip_bw=49, name="cloud"),
        )
    }
)
"""Accelerators by name.

``paper``: 1024 PEs, nothing else limited; what GAMMA (its default arguments) and ArchGym (its
MAESTRO environment) evaluate. ``edge``: Eyeriss class, 168 PEs with 512 B, 108 kB shared (Chen et
al., JSSC 2017). ``cloud``: TPU v1 class, 256 x 256 MACs, 24 MiB unified buffer, 34 GB/s of DDR3 at
700 MHz = 49 B/cycle (Jouppi et al., ISCA 2017).
"""


def find_hardware(text: str) -> Hardware:
    """Return the preset called ``text``, or read the ``.yaml`` or MAESTRO ``.m`` file there.

    Raises:
        UnknownNameError: neither a preset nor a hardware file.
        HardwareError: a file that cannot be read; the message names it.
    """
    if text in PRESETS:
        return PRESETS[text]
    path = Path(text)
    if path.suffix in (".yaml", ".yml"):
        return _read_yaml(path)
    if path.suffix == ".m":
        return _read_m(path)
    raise UnknownNameError("hardware", text, [*PRESETS, "FILE.yaml", "FILE.m"])


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise HardwareError(f"cannot read hardware file {path}: {reason}") from None


def _read_yaml(path: Path) -> Hardware:
    import yaml

    text = _read_text(path)
    try:
        values = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "not YAML"
        raise HardwareError(f"{path}{line}: {problem}") from None
    allowed = [field.name for field in fields(Hardware)]
    if not isinstance(values, dict):
        raise HardwareError(f"{path}: expected 'name: value' lines of {', '.join(allowed)}")
    for key in values:
        if key not in allowed:
            raise HardwareError(f"{path}: unknown key '{key}'; allowed: {', '.join(allowed)}")
    if "num_pes" not in values:
        raise HardwareError(f"{path}: num_pes is missing; it is the one key without a default")
    try:
        return Hardware(**{"name": path.stem, **values})
    except HardwareError as error:
        raise HardwareError(f"{path}: {error}") from None


def _read_m(path: Path) -> Hardware:
    text = _read_text(path)
    try:
        given = parse_hardware(text)
        return Hardware(
            num_pes=given.num_pes,
            l1_bytes=given.l1_size_cstr,
            l2_bytes=given.l2_size_cstr,
            noc_bw=given.noc_bw_cstr,
            offchip_bw=given.offchip_bw_cstr,
            noc_hops=given.NoC_NumHops,
            name=path.stem,
        )
    except (ReferenceDeath, HardwareError) as error:
        raise HardwareError(f"{path}: {error}") from None
