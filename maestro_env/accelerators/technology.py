"""A technology: what work, words and silicon of an accelerator cost, and its text form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any

from maestro_env import _native
from maestro_env.base.checks import (
    INTEGER,
    MAX_INT,
    NUMBER,
    TEXT,
    Reader,
    plain_integer,
    plain_number,
    read_entries,
    require_integer,
    require_name,
    require_number,
)
from maestro_env.base.errors import ArgumentTypeError, HardwareError, quoted

BySize = tuple[tuple[int, float], ...]
"""Pairs of a buffer's capacity in bytes and the energy of an access."""

REGISTER_BYTES = 64
"""Up to so many bytes a buffer is made of registers, beyond of SRAM.

So are the scratchpads of Eyeriss: 24 and 48 B are registers, 448 B are SRAM (Chen et al., JSSC
2017).
"""

FLIP_FLOP_BYTES = 8
"""Up to so many bytes registers are flip-flops, beyond a file, where the technology has files."""

_TREE = 1.5
"""Wires from the middle of a square's edge to each of many banks, in widths of the square.

They are an H-tree, as in CACTI: half a width to the centre, and from there halves, quarters, ...
of half a width in both directions.
"""

_NAMED = "of letters, digits, _ and -"
_AREAS = ("mac_um2", "register_um2", "sram_um2")
_FILE = ("file_macs", "file_um2")
_MORE = ("register_macs", *_AREAS, *_FILE, "wire_macs", "leak_nw")


@dataclass(frozen=True)
class Energies:
    """Energy of a MAC in nJ, and in MACs of everything else, on one accelerator.

    Args:
        mac_nj: of a MAC.
        l1_macs: of an access to L1 or a cluster buffer.
        l2_macs: of an access to L2.
        noc_macs: of a word that a unit takes in or sends up.
        offchip_macs: of a word between L2 and main memory.
    """

    mac_nj: float
    l1_macs: float
    l2_macs: float
    noc_macs: float
    offchip_macs: float


@dataclass(frozen=True)
class Areas:
    """Area in um^2 on one accelerator; all 0 for MAESTRO's blocks.

    Args:
        pe_um2: of the MACs of a PE.
        l1_um2: of a byte of L1.
        l2_um2: of a byte of L2.
    """

    pe_um2: float = 0.0
    l1_um2: float = 0.0
    l2_um2: float = 0.0


@dataclass(frozen=True)
class Technology:
    """Energy of a MAC in nJ, in MACs of accesses and words, and areas; numbers from 0 to 1e9.

    An access to a buffer costs the same whatever its capacity, or is given by capacity: as two or
    more pairs (bytes, energy), the bytes ascending. Between and beyond them energy is linear in the
    square root of the capacity, as wires are as long as a memory is wide. With ``wire_macs``
    buffers beyond the last pair are banks of its size side by side: an access costs that of a bank
    and of the wires to it.

    Args:
        name: in tables and files, of letters, digits, _ and -.
        mac_nj: of a MAC, above 0.
        l1_macs: of an access to L1 or a cluster buffer.
        l2_macs: of an access to L2.
        noc_macs: of a word that a unit takes in or sends up, and hop of the network.
        offchip_macs: of a word between L2 and main memory.
        word_bytes: bytes of the words that these are energies of; None for words of any size.
        register_macs: of an access to a buffer of registers (``REGISTER_BYTES``); None for that of
            any other buffer.
        file_macs: of an access to a register file (``FLIP_FLOP_BYTES``); None where registers of
            any number are flip-flops, as is ``file_um2``.
        wire_macs: of a word on a mm of wire between banks; None for one bank of any size.
        mac_um2: area of a MAC, above 0; None, and so are the others, for MAESTRO's formula.
        register_um2: area of a bit of a register.
        file_um2: area of a bit of a register file.
        sram_um2: area of a bit of SRAM, with its share of decoders and sense amplifiers.
        leak_nw: leakage of a bit in nW, of all buffers; None for none. ``hierarchy`` counts it.

    Raises:
        ArgumentTypeError: an argument of a wrong type.
        HardwareError: a value out of range.
    """

    name: str = ""
    mac_nj: float = _native.MAC_ENERGY_NJ
    l1_macs: float | BySize = _native.L1_ACCESS_MACS
    l2_macs: float | BySize = _native.L2_ACCESS_MACS
    noc_macs: float = 0.0
    offchip_macs: float = 0.0
    word_bytes: int | None = None
    # Random streams of searches follow from the text of an accelerator, which is what it was.
    register_macs: float | None = field(default=None, repr=False)
    mac_um2: float | None = field(default=None, repr=False)
    register_um2: float | None = field(default=None, repr=False)
    sram_um2: float | None = field(default=None, repr=False)
    file_macs: float | None = field(default=None, repr=False)
    file_um2: float | None = field(default=None, repr=False)
    wire_macs: float | None = field(default=None, repr=False)
    leak_nw: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        require_name("a technology's name", self.name, HardwareError, "such as eyeriss")
        if not self.name.replace("-", "_").isidentifier() and self.name:
            raise HardwareError(f"a technology's name is {quoted(self.name)}; allowed: {_NAMED}")
        for key in ("mac_nj", "noc_macs", "offchip_macs"):
            object.__setattr__(self, key, self._number(key, getattr(self, key)))
        if self.mac_nj == 0:
            raise HardwareError(f"{self.label}: mac_nj is 0; allowed: numbers above 0")
        for key in ("l1_macs", "l2_macs"):
            object.__setattr__(self, key, self._access(key, getattr(self, key)))
        if self.word_bytes is not None:
            what = f"{self.label}: word_bytes"
            number = require_integer(what, self.word_bytes, HardwareError)
            object.__setattr__(self, "word_bytes", number)
        given = [key for key in _MORE if getattr(self, key) is not None]
        for key in given:
            object.__setattr__(self, key, self._number(key, getattr(self, key), "um2" in key))
        for keys in (_AREAS, _FILE):
            missing = [key for key in keys if key not in given]
            if 0 < len(missing) < len(keys):
                raise HardwareError(
                    f"{self.label}: {', '.join(missing)} missing; allowed: all of "
                    f"{', '.join(keys)}, or none"
                )
        self._check_parts()

    @property
    def label(self) -> str:
        """What errors call it."""
        return f"technology {self.name or 'given'}"

    @property
    def by_size(self) -> tuple[str, ...]:
        """Buffers whose energy depends on their capacity: of ``l1`` and ``l2``."""
        return tuple(each for each in ("l1", "l2") if isinstance(self._of(each), tuple))

    @property
    def has_areas(self) -> bool:
        """Whether it has areas of its own."""
        return self.mac_um2 is not None

    def access_macs(self, buffer: str, capacity: int) -> float:
        """Return the energy in MACs of an access to ``l1`` or ``l2`` of so many bytes.

        Raises:
            HardwareError: it is below 0 or above 1e9, which the table does not reach.
        """
        part = self._part(capacity)
        if part != "sram" and (registers := getattr(self, f"{part}_macs")) is not None:
            return float(registers)
        given = self._of(buffer)
        if not isinstance(given, tuple):
            return given
        bank, bank_macs = given[-1]
        if self.wire_macs is not None and capacity > bank:
            wires = _TREE * (self._width_mm(capacity) - self._width_mm(bank))
            return self._reached(buffer, capacity, bank_macs + wires * self.wire_macs)
        segment = next(
            (pair for pair in pairwise(given) if capacity <= pair[1][0]), (given[-2], given[-1])
        )
        (small, least), (large, most) = segment
        share = (math.sqrt(capacity) - math.sqrt(small)) / (math.sqrt(large) - math.sqrt(small))
        return self._reached(buffer, capacity, least + (most - least) * share)

    def _reached(self, buffer: str, capacity: int, energy: float) -> float:
        if not 0 <= energy <= _native.MAX_ENERGY:
            raise HardwareError(
                f"{self.label}: an access to {buffer} of {capacity:,} B costs {energy:g} MACs; "
                f"give {buffer}_macs of sizes nearer to it"
            )
        return energy

    def bit_um2(self, capacity: int) -> float:
        """Return the area of a bit of a buffer of so many bytes; of a technology with areas."""
        area: float = getattr(self, f"{self._part(capacity)}_um2")
        return area

    def _part(self, capacity: int) -> str:
        """Return what a buffer of so many bytes is made of: ``register``, ``file`` or ``sram``."""
        if capacity > REGISTER_BYTES:
            return "sram"
        return "register" if capacity <= FLIP_FLOP_BYTES or self.file_um2 is None else "file"

    def _width_mm(self, capacity: int) -> float:
        """Return the width of a square of SRAM of so many bytes."""
        return math.sqrt(8 * capacity * self.bit_um2(capacity)) / 1000

    def _check_parts(self) -> None:
        """Refuse files and wires without what they are set beside."""
        if self.file_macs is not None and None in (self.register_macs, self.register_um2):
            raise HardwareError(
                f"{self.label} has file_macs without register_macs or areas; allowed: with both"
            )
        if self.wire_macs is not None and (not self.by_size or not self.has_areas):
            raise HardwareError(
                f"{self.label} has wire_macs without energies by size or areas; allowed: with both"
            )

    def _of(self, buffer: str) -> float | BySize:
        given: float | BySize = getattr(self, f"{buffer}_macs")
        return given

    def _number(self, key: str, value: object, positive: bool = False) -> float:
        what, most = f"{self.label}: {key}", _native.MAX_ENERGY
        return require_number(what, value, HardwareError, most, positive)

    def _access(self, key: str, value: object) -> float | BySize:
        if isinstance(value, str) or not isinstance(value, Sequence):
            return self._number(key, value)
        pairs = [each for each in value if isinstance(each, Sequence) and len(each) == 2]
        if len(pairs) < len(value) or len(pairs) < 2:
            raise ArgumentTypeError(
                f"{self.label}: {key} is {quoted(value)}; "
                "allowed: a number, or two or more pairs (bytes, energy)"
            )
        what = f"{self.label}: bytes of {key}"
        sizes = [require_integer(what, size, HardwareError, 1, MAX_INT) for size, _ in pairs]
        if any(small >= large for small, large in pairwise(sizes)):
            raise HardwareError(f"{what} are {sizes}; allowed: ascending ones")
        energies = [self._number(key, energy) for _, energy in pairs]
        return tuple(zip(sizes, energies, strict=True))


def written(technology: Technology) -> str:
    """Return a text of a technology's fields, which ``read_technology`` reads back."""
    default = asdict(Technology())
    given = {key: value for key, value in asdict(technology).items() if value != default[key]}
    return ";".join(f"{key}={_written(value)}" for key, value in given.items())


def _written(value: Any) -> str:
    if isinstance(value, tuple):
        return "+".join(f"{size}:{energy}" for size, energy in value)
    return str(value)


def read_technology(text: str) -> Technology:
    """Return the technology of fields as in ``mac_nj=0.001;l1_macs=512:1.5+8192:6``.

    Raises:
        HardwareError: fields that cannot be read.
    """
    pieces = (piece.partition("=") for piece in (text.split(";") if text else ()))
    entries = ((f"technology {quoted(text)}", key, value) for key, _, value in pieces)
    return Technology(**read_entries(entries, _READERS, HardwareError))


def _read_access(text: str) -> float | BySize | None:
    if ":" not in text:
        return plain_number(text)
    pairs = [each.partition(":") for each in text.split("+")]
    found = [(plain_integer(size), plain_number(energy)) for size, _, energy in pairs]
    return None if any(None in pair for pair in found) else tuple(found)  # type: ignore[arg-type]


_ACCESS: Reader = (_read_access, "numbers, or BYTES:ENERGY+BYTES:ENERGY")
_READERS = {
    "name": TEXT,
    "mac_nj": NUMBER,
    "l1_macs": _ACCESS,
    "l2_macs": _ACCESS,
    "noc_macs": NUMBER,
    "offchip_macs": NUMBER,
    "word_bytes": INTEGER,
    **dict.fromkeys(_MORE, NUMBER),
}
