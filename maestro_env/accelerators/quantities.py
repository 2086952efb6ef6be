"""The fields of an accelerator as people write them: sizes with units, arrays, bandwidths in GB/s.

1 KB is 1 KiB, 1,024 B, as data sheets of chips mean it; 1 GB/s is 10^9 bytes per second.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields
from fractions import Fraction
from typing import Any

from maestro_env import _native
from maestro_env.accelerators.hardware import Hardware, least_of
from maestro_env.accelerators.technologies import find_technology
from maestro_env.base.checks import (
    MAX_INT,
    TEXT,
    Reader,
    Written,
    plain_integer,
    plain_number,
    read_entries,
)
from maestro_env.base.errors import HardwareError, quoted
from maestro_env.base.yaml_file import Part

_DECIMAL = r"([0-9]{1,18}(?:\.[0-9]{1,18})?)"
_SIZE = re.compile(rf"{_DECIMAL}\s?(?:([KMG])i?)?B")
_RATE = re.compile(rf"{_DECIMAL}\s?([MGT])B/s")
_ARRAY = re.compile(r"\[?([0-9]{1,9})\s*[x,]\s*([0-9]{1,9})\]?")
_BANDWIDTHS = ("noc_bw", "offchip_bw")

SAID = ("source", "note")
"""What a block of fields may say of its accelerator, for people."""

INSTEAD: Mapping[str, str] = {
    "l3_bytes": "there are two buffers, the L1 of each PE and a shared L2: leave it out, or give "
    "it as l2_bytes",
    "dram_bandwidth_gbps": "write offchip_bw=12.8GB/s with clock_mhz, or offchip_bw in words per "
    "cycle",
    "weight_bits": "words of all tensors have one size: write word_bytes=1 for 8 bits, 2 for 16",
    "dataflow": "it is of the mapping: leave it out, and search with --keep weight-stationary",
    "clusters": "they are of the mapping, whose cluster_size says how many PEs one has: leave them "
    "out",
}
"""What to write in place of keys that there are not."""


def sized_bytes(text: str) -> int | None:
    """Return the bytes of a text with a unit; None for another text or a part of a byte."""
    if (match := _SIZE.fullmatch(text)) is None:
        return None
    size = Fraction(match[1]) * 1024 ** " KMG".index(match[2] or " ")
    return int(size) if size.denominator == 1 else None


def sized_bits(text: str) -> int | None:
    """Return a number of bits, or the bits of a text with a unit of bytes; None for another one."""
    if (bits := plain_integer(text)) is not None:
        return bits
    size = sized_bytes(text)
    return None if size is None else 8 * size


def bits_text(bits: int) -> str:
    """Write bits as ``sized_bits`` reads them, in the largest unit that divides them."""
    for unit, size in (("GB", 2**33), ("MB", 2**23), ("KB", 2**13), ("B", 8)):
        if bits % size == 0:
            return f"{bits // size}{unit}"
    return str(bits)


def bytes_per_second(text: str) -> Fraction | None:
    """Return the rate of a text with a unit, such as ``12.8GB/s``; None for another text."""
    match = _RATE.fullmatch(text)
    return Fraction(match[1]) * 10 ** {"M": 6, "G": 9, "T": 12}[match[2]] if match else None


def _size(text: str) -> int | None:
    """Return bytes, None for another text or a part of a byte."""
    whole = plain_integer(text)
    return sized_bytes(text) if whole is None else whole


def _array(text: str) -> int | None:
    match = _ARRAY.fullmatch(text)
    return int(match[1]) * int(match[2]) if match else None


_SIZES = f"integers from 1 to {MAX_INT}, or with B, KB, MB or GB (1 KB is 1 KiB, 1,024 B)"

READERS: Mapping[str, Reader] = {
    **{
        field.name: (plain_integer, f"integers from {least_of(field.name)} to {MAX_INT}")
        for field in fields(Hardware)
    },
    "l1_bytes": (_size, _SIZES),
    "l2_bytes": (_size, _SIZES),
    **dict.fromkeys(_BANDWIDTHS, TEXT),
    "name": TEXT,
    "offchip_cost_macs": (plain_number, f"numbers from 0 to {_native.MAX_ENERGY:g}"),
    "technology": (find_technology, "technologies"),
    "clock_mhz": (plain_number, "numbers above 0, in MHz and without a unit"),
    "pe_array": (_array, "rows and columns, 16x16 or [16, 16]"),
}


def read_fields(entries: Iterable[Written]) -> dict[str, Any]:
    """Return fields of ``Hardware`` by name.

    Raises:
        HardwareError: a key or value that is not allowed; the message says what to write.
    """
    written = list(entries)
    places = {key: where for where, key, _ in written}
    for key in places:
        if key in INSTEAD:
            raise HardwareError(f"{places[key]}: {key} is no key: {INSTEAD[key]}")
    values = read_entries(written, READERS, HardwareError)
    for key in _BANDWIDTHS:
        if key in values:
            what = f"{places[key]}: {key} is {quoted(values[key])}"
            values[key] = _words_per_cycle(what, values[key], values)
    if "pe_array" in values:
        if "num_pes" in values:
            raise HardwareError(f"{places['pe_array']}: pe_array and num_pes: give one of them")
        values["num_pes"] = values.pop("pe_array")
    return values


def hardware_of(part: Part, name: str) -> Hardware:
    """Read the accelerator of a block of fields; ``name`` is its name if the block has none."""
    entries = (
        (each.where, key, _text(key, each)) for key, each in part.named().items() if key not in SAID
    )
    return made_hardware(part.where, read_fields(entries), name)


def made_hardware(source: str, values: Mapping[str, Any], name: str) -> Hardware:
    """Make an accelerator of the fields of a source."""
    if "num_pes" not in values:
        raise HardwareError(f"{source}: num_pes is missing; it is the one key without a default")
    try:
        return Hardware(**{"name": name, **values})
    except HardwareError as error:
        raise HardwareError(f"{source}: {error}") from None


def _text(key: str, part: Part) -> str:
    listed = key == "pe_array" and isinstance(part.value, list)
    return "x".join(part.texts()) if listed else part.text()


def _words_per_cycle(what: str, text: str, values: Mapping[str, Any]) -> int:
    """Return a bandwidth; ``values`` may have the clock and the size of a word."""
    clock, word_bytes = values.get("clock_mhz"), values.get("word_bytes") or 1
    if (whole := plain_integer(text)) is not None:
        return whole
    if (second := bytes_per_second(text)) is not None:
        if not clock:
            raise HardwareError(f"{what}, which needs clock_mhz: add it, or give words per cycle")
        words = second / (Fraction(str(clock)) * 10**6 * word_bytes)
    elif plain_number(text) is not None:
        words = Fraction(text)
    else:
        allowed = f"integers from 1 to {MAX_INT}, or such as 12.8GB/s with clock_mhz"
        raise HardwareError(f"{what}; allowed: {allowed}")
    if words.denominator != 1:
        near = " or ".join(str(each) for each in (math.floor(words), math.ceil(words)) if each)
        raise HardwareError(
            f"{what}, {float(words):g} words per cycle; give a whole number: {near}"
        )
    return int(words)
