"""Technologies: energy of work and of words on an accelerator, by what it is made of."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
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
from maestro_env.base.errors import ArgumentTypeError, HardwareError, UnknownNameError, quoted
from maestro_env.base.registry import by_name

BySize = tuple[tuple[int, float], ...]
"""Pairs of a buffer's capacity in bytes and the energy of an access."""

_NAMED = "of letters, digits, _ and -"


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
class Technology:
    """Energy of a MAC in nJ, and in MACs of accesses and words; numbers from 0 to 1e9.

    An access to a buffer costs the same whatever its capacity, or is given by capacity: as two or
    more pairs (bytes, energy), the bytes ascending. Between and beyond them energy is linear in the
    square root of the capacity, as wires are as long as a memory is wide.

    Args:
        name: in tables and files, of letters, digits, _ and -.
        mac_nj: of a MAC, above 0.
        l1_macs: of an access to L1 or a cluster buffer.
        l2_macs: of an access to L2.
        noc_macs: of a word that a unit takes in or sends up, and hop of the network.
        offchip_macs: of a word between L2 and main memory.
        word_bytes: bytes of the words that these are energies of; None for words of any size.

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

    def __post_init__(self) -> None:
        require_name("a technology's name", self.name, HardwareError, "such as eyeriss")
        if not self.name.replace("-", "_").isidentifier() and self.name:
            raise HardwareError(f"a technology's name is {quoted(self.name)}; allowed: {_NAMED}")
        for key in ("mac_nj", "noc_macs", "offchip_macs"):
            object.__setattr__(self, key, self._energy(key, getattr(self, key)))
        if self.mac_nj == 0:
            raise HardwareError(f"{self._label}: mac_nj is 0; allowed: numbers above 0")
        for key in ("l1_macs", "l2_macs"):
            object.__setattr__(self, key, self._access(key, getattr(self, key)))
        if self.word_bytes is not None:
            what = f"{self._label}: word_bytes"
            number = require_integer(what, self.word_bytes, HardwareError)
            object.__setattr__(self, "word_bytes", number)

    @property
    def by_size(self) -> tuple[str, ...]:
        """Buffers whose energy depends on their capacity: of ``l1`` and ``l2``."""
        return tuple(each for each in ("l1", "l2") if isinstance(self._of(each), tuple))

    def access_macs(self, buffer: str, capacity: int) -> float:
        """Return the energy in MACs of an access to ``l1`` or ``l2`` of so many bytes.

        Raises:
            HardwareError: it is below 0 or above 1e9, which the table does not reach.
        """
        given = self._of(buffer)
        if not isinstance(given, tuple):
            return given
        segment = next(
            (pair for pair in pairwise(given) if capacity <= pair[1][0]), (given[-2], given[-1])
        )
        (small, least), (large, most) = segment
        share = (math.sqrt(capacity) - math.sqrt(small)) / (math.sqrt(large) - math.sqrt(small))
        energy = least + (most - least) * share
        if not 0 <= energy <= _native.MAX_ENERGY:
            raise HardwareError(
                f"{self._label}: an access to {buffer} of {capacity:,} B costs {energy:g} MACs; "
                f"give {buffer}_macs of sizes nearer to it"
            )
        return energy

    def _of(self, buffer: str) -> float | BySize:
        given: float | BySize = getattr(self, f"{buffer}_macs")
        return given

    @property
    def _label(self) -> str:
        return f"technology {self.name or 'given'}"

    def _energy(self, key: str, value: object) -> float:
        return require_number(f"{self._label}: {key}", value, HardwareError, _native.MAX_ENERGY)

    def _access(self, key: str, value: object) -> float | BySize:
        if isinstance(value, str) or not isinstance(value, Sequence):
            return self._energy(key, value)
        pairs = [each for each in value if isinstance(each, Sequence) and len(each) == 2]
        if len(pairs) < len(value) or len(pairs) < 2:
            raise ArgumentTypeError(
                f"{self._label}: {key} is {quoted(value)}; "
                "allowed: a number, or two or more pairs (bytes, energy)"
            )
        what = f"{self._label}: bytes of {key}"
        sizes = [require_integer(what, size, HardwareError, 1, MAX_INT) for size, _ in pairs]
        if any(small >= large for small, large in pairwise(sizes)):
            raise HardwareError(f"{what} are {sizes}; allowed: ascending ones")
        energies = [self._energy(key, energy) for _, energy in pairs]
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


DEFAULT = Technology("maestro")
"""MAESTRO's energies, where network and main memory are free."""

_MAC_8_BIT_PJ, _MAC_65_NM_PJ = 0.23, 0.208

TECHNOLOGIES: Mapping[str, Technology] = by_name(
    DEFAULT,
    Technology("eyeriss", l1_macs=1, l2_macs=6, noc_macs=2, offchip_macs=200),
    Technology(
        "accelergy65",
        mac_nj=_MAC_65_NM_PJ / 1000,
        l1_macs=(0.20 + 1.98 + 2 * 0.25) / 4 / _MAC_65_NM_PJ,
        l2_macs=(18.2 + 14.1) / 2 / 4 / _MAC_65_NM_PJ,
        offchip_macs=512 / 4 / _MAC_65_NM_PJ,
        word_bytes=2,
    ),
    Technology(
        "horowitz45",
        mac_nj=_MAC_8_BIT_PJ / 1000,
        **{
            f"{buffer}_macs": tuple(
                (size, picojoules / 8 / _MAC_8_BIT_PJ)
                for size, picojoules in ((2**13, 10), (2**15, 20), (2**20, 100))
            )
            for buffer in ("l1", "l2")
        },  # type: ignore[arg-type]
        offchip_macs=(1300 + 2600) / 2 / 8 / _MAC_8_BIT_PJ,
        word_bytes=1,
    ),
)
"""Technologies by name; ``SOURCES`` says where their figures are from."""

SOURCES: Mapping[str, str] = {
    "maestro": "MAESTRO's energy table; it has no energy of networks and main memory",
    "eyeriss": "Chen et al., ISCA 2016: register file 1, PE to PE 2, buffer 6, DRAM 200 of a "
    "16-bit MAC; the MAC itself, which the ratios leave open, costs as much as MAESTRO's",
    "accelergy65": "Accelergy's Eyeriss-like 65 nm example, per 16-bit word: L1 is the mean over a "
    "MAC's four accesses with a partial sum's write at the price of its read, L2 the mean of read "
    "and write; it has no energy of a network that is used here",
    "horowitz45": "Horowitz, ISSCC 2014, 45 nm, 8 bits, quoted from memory and not checked: 8-bit "
    "add and multiply 0.23 pJ; 64 bits of 8 KB, 32 KB, 1 MB 10, 20, 100 pJ; of DRAM 1.3 to 2.6 nJ, "
    "here the mean; below 8 KB and above 1 MB extrapolated; no energy of a network",
}
"""Where each technology's figures are from, in one sentence."""


def find_technology(given: str | Technology | Mapping[str, object]) -> Technology:
    """Return the technology that a text names, that fields make, or the technology itself.

    Args:
        given: a name of ``TECHNOLOGIES``, or fields as in ``mac_nj=0.001;l1_macs=512:1.5+8192:6``,
            or a mapping of names to values.

    Raises:
        ArgumentTypeError: something else.
        UnknownNameError: no such name.
        HardwareError: fields that cannot be read or are out of range.
    """
    if isinstance(given, Technology):
        return given
    if isinstance(given, Mapping):
        try:
            return Technology(**given)  # type: ignore[arg-type]
        except TypeError as error:
            if isinstance(error, ArgumentTypeError):
                raise
            raise HardwareError(f"technology {quoted(given)}: {error}") from None
    if not isinstance(given, str):
        raise ArgumentTypeError(
            f"technology is {quoted(given)}; allowed: a Technology, or {', '.join(TECHNOLOGIES)}"
        )
    if given in TECHNOLOGIES:
        return TECHNOLOGIES[given]
    if "=" in given:
        return read_technology(given)
    raise UnknownNameError("technology", given, [*TECHNOLOGIES, "mac_nj=NUMBER;l1_macs=..."])


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
}
