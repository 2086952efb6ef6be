"""Energy of work and of words on an accelerator, by what it is made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from typing import Any

from maestro_env import _native
from maestro_env.base.checks import (
    MAX_INT,
    plain_integer,
    plain_number,
    require_integer,
    require_name,
)
from maestro_env.base.errors import ArgumentTypeError, HardwareError, quoted

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
        number_given = isinstance(value, int | float) and not isinstance(value, bool)
        if not number_given or not 0 <= value <= _native.MAX_ENERGY:  # type: ignore[operator]
            error = HardwareError if number_given else ArgumentTypeError
            raise error(
                f"{self._label}: {key} is {quoted(value)}; "
                f"allowed: numbers from 0 to {_native.MAX_ENERGY:g}"
            )
        return float(value)  # type: ignore[arg-type]

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


def read_technology(text: str) -> Technology:
    """Return the technology of fields as in ``mac_nj=0.001;l1_macs=512:1.5+8192:6``.

    Raises:
        HardwareError: fields that cannot be read.
    """
    known = [field.name for field in fields(Technology)]
    values: dict[str, Any] = {}
    for piece in text.split(";") if text else ():
        key, _, value = piece.partition("=")
        if key not in known or key in values:
            problem = "is given twice" if key in values else "is unknown"
            raise HardwareError(
                f"technology {quoted(text)}: key {quoted(key)} {problem}; "
                f"allowed: {', '.join(known)}, each once"
            )
        values[key] = _read(text, key, value)
    return Technology(**values)


def _read(source: str, key: str, text: str) -> Any:
    if key == "name":
        return text
    found: Any
    if key == "word_bytes":
        found, allowed = plain_integer(text), "integers"
    elif ":" in text:
        pairs = [each.partition(":") for each in text.split("+")]
        found = tuple((plain_integer(size), plain_number(energy)) for size, _, energy in pairs)
        found = None if any(None in pair for pair in found) else found
        allowed = "BYTES:ENERGY+BYTES:ENERGY"
    else:
        found, allowed = plain_number(text), "numbers"
    if found is None:
        raise HardwareError(
            f"technology {quoted(source)}: {key} is {quoted(text)}; allowed: {allowed}"
        )
    return found
