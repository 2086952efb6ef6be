"""The file of a prior: its arrays and what they were made of, in the layout of safetensors.

Eight bytes give the length of a JSON header, least byte first; the header gives type, shape and
place of every array, and texts; the arrays follow, raw. Reading runs no code of the file.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maestro_env import _native
from maestro_env.base.errors import MaestroEnvError, TooLongError, quoted
from maestro_env.base.reading import read_bytes
from maestro_env.evaluation.observations_and_rewards import CONTEXT

StoredArrays = Mapping[str, NDArray[np.float32]]

SHIPPED = Path(__file__).with_name("prior.safetensors")
"""The prior of this package."""

SCHEMA = "maestro-env/prior/1"
MOST_BYTES = 5_000_000

_LENGTH = 8
_LARGEST = 1e4
WAY_OUT = "give the file that maestro-env pretrain wrote, or none for the shipped one"


class PriorFileError(MaestroEnvError, ValueError):
    """A file that holds no prior which this version can read; the message names it."""


@dataclass(frozen=True, eq=False)
class PriorFile:
    """A prior as its file holds it.

    Args:
        arrays: of the networks by name, float32, all finite; none is empty.
        data_card: what it was trained on, as JSON.
        command: that made it.
        ranges: least and largest of every entry of ``CONTEXT`` in training.
    """

    arrays: StoredArrays
    data_card: Mapping[str, Any]
    command: str
    ranges: Mapping[str, tuple[float, float]]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all there is in it, in hexadecimal digits."""
        digest = hashlib.sha256(json.dumps(self._texts(), sort_keys=True).encode())
        for name, array in sorted(self.arrays.items()):
            digest.update(json.dumps([name, array.shape]).encode())
            digest.update(_raw(array))
        return digest.hexdigest()

    def to_bytes(self) -> bytes:
        """Return the file, the same bytes for the same prior.

        Raises:
            PriorFileError: what ``from_bytes`` would refuse, or more than 5 MB.
        """
        header: dict[str, Any] = {"__metadata__": self._texts() | {"digest": self.digest}}
        arrays = sorted(self.arrays.items())
        end = 0
        for name, array in arrays:
            begin, end = end, end + array.nbytes
            header[name] = {
                "dtype": "F32" if array.dtype == np.float32 else str(array.dtype),
                "shape": list(array.shape),
                "data_offsets": [begin, end],
            }
        text = json.dumps(header, separators=(",", ":")).encode()
        # Spaces, so that arrays begin at a multiple of eight bytes.
        text += b" " * (-len(text) % _LENGTH)
        data = len(text).to_bytes(_LENGTH, "little") + text
        data += b"".join(_raw(array) for _, array in arrays)
        from_bytes(data, "the prior")
        return data

    def _texts(self) -> dict[str, str]:
        return {
            "schema": SCHEMA,
            "data_card": json.dumps(self.data_card, sort_keys=True),
            "command": self.command,
            "ranges": json.dumps(self.ranges),
        }


def read_prior(path: Path | str) -> PriorFile:
    """Read the file of a prior.

    Raises:
        PriorFileError: no such file, or one that is damaged, foreign, newer or too long.
    """
    try:
        data = read_bytes(path, MOST_BYTES)
    except (OSError, TooLongError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise PriorFileError(f"cannot read the prior {path}: {reason}; {WAY_OUT}") from None
    return from_bytes(data, f"the prior {path}")


def from_bytes(data: bytes, what: str) -> PriorFile:
    """Return the prior that bytes hold; an error calls them ``what``.

    Raises:
        PriorFileError: bytes that hold none.
    """
    try:
        if len(data) > MOST_BYTES:
            raise ValueError(f"it has {len(data):,} bytes; allowed: {MOST_BYTES:,}")
        return _parsed(data)
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        problem: object = f"{error} is missing" if isinstance(error, KeyError) else error
        if isinstance(error, AttributeError | TypeError):
            problem = f"its header is damaged: {error}"
        if isinstance(error, RecursionError):
            problem = "its header is nested too deeply"
        raise PriorFileError(f"{what} cannot be used: {problem}; {WAY_OUT}") from None


def _parsed(data: bytes) -> PriorFile:
    end = _LENGTH + int.from_bytes(data[:_LENGTH], "little")
    if not _LENGTH < end <= len(data):
        raise ValueError("it is not a safetensors file, or its end is missing")
    header = _json(data[_LENGTH:end].decode())
    texts = header.pop("__metadata__", {})
    if texts.get("schema") != SCHEMA:
        raise ValueError(f"its schema is {quoted(texts.get('schema'))}; allowed: {SCHEMA}")
    ranges = {name: _range(name, pair) for name, pair in _json(texts["ranges"]).items()}
    if (*ranges,) != CONTEXT:
        raise ValueError("it was trained for another version, with other contexts")
    arrays = _arrays(header, memoryview(data)[end:])
    found = PriorFile(arrays, _json(texts["data_card"]), texts["command"], ranges)
    if texts["digest"] != found.digest:
        raise ValueError("it does not fit its digest: it was changed")
    return found


def _json(text: str) -> dict[str, Any]:
    value = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    if not isinstance(value, dict):
        raise ValueError(f"{quoted(value)} is not a JSON object")
    return value


def _once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"{quoted(name)} is there twice")
        found[name] = value
    return found


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is not a number")


def _range(name: str, pair: Any) -> tuple[float, float]:
    least, largest = pair
    if not all(type(each) in (int, float) for each in pair) or not 0 <= least <= largest <= 1:
        raise ValueError(f"the range of {quoted(name)} is {quoted(pair)}")
    return float(least), float(largest)


def _arrays(header: Mapping[str, Any], data: memoryview) -> StoredArrays:
    """Return the arrays of a header, which lie one behind the other and fill the data."""
    arrays, end = {}, 0
    for name, entry in sorted(header.items(), key=lambda each: each[1]["data_offsets"]):
        begin, shape = end, entry["shape"]
        if entry["dtype"] != "F32":
            raise ValueError(f"array {quoted(name)} is of type {quoted(entry['dtype'])}, not F32")
        if not all(type(each) is int and each > 0 for each in shape):
            raise ValueError(f"array {quoted(name)} has the shape {quoted(shape)}")
        end = begin + 4 * math.prod(shape)
        if entry["data_offsets"] != [begin, end] or end > len(data):
            raise ValueError(f"array {quoted(name)} is not where it should be")
        array = np.frombuffer(data[begin:end], dtype="<f4").reshape(shape)
        # Larger ones, or none at all, would add up to scores that are no numbers.
        if not (np.abs(array) <= _LARGEST).all():
            raise ValueError(
                f"array {quoted(name)} has entries beyond {_LARGEST:g}, or that are no numbers"
            )
        arrays[name] = array
    if end != len(data):
        raise ValueError(f"{len(data) - end} bytes are of no array")
    return arrays


def _raw(array: NDArray[np.float32]) -> bytes:
    return array.astype(array.dtype.newbyteorder("<")).tobytes()


Arrays = dict[str, NDArray[np.float32]]


@dataclass(frozen=True)
class Widths:
    """Numbers that the two layers of a network pass on, multiples of 64."""

    hidden: int = 256
    mixed: int = 64


WIDTHS = Widths()


def shapes(widths: Widths = WIDTHS) -> Mapping[str, tuple[int, ...]]:
    """Return the shape of every array: the first axis is the decision."""
    decisions, hidden, mixed = _native.PRIOR_DECISIONS, widths.hidden, widths.mixed
    return {
        "context": (decisions, len(CONTEXT), hidden),
        "state": (decisions, _native.PRIOR_STATE, hidden),
        "bias": (decisions, hidden),
        "hidden": (decisions, hidden, mixed),
        "mixed_bias": (decisions, mixed),
        "option": (decisions, _native.PRIOR_FEATURES, mixed),
        "score": (decisions, mixed),
    }
