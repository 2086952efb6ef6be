"""Reads the networks of GAMMA (github.com/maestro-project/gamma, ``data/model/*.csv``).

A row is a layer: six extents, a type code and optionally a stride. As in GAMMA, the type code of a
row, not the header, defines the extents. GAMMA's own files have no strides, and their Y and X leave
out the padding; the reader does not add it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

from maestro_env.errors import LayerError, quoted
from maestro_env.layer import Layer
from maestro_env.reading import read_text
from maestro_env.workloads.custom import integer

_HEADERS = ("K,C,Y,X,R,S,T", "M,N,K,0,0,0,T", "O,I,0,0,0,0,T")
_STRIDE = "stride"
_MAX_CHARACTERS = 2**20

_UNUSED = ""
_TYPES: Mapping[int, tuple[str, tuple[str, ...]]] = {
    0: ("GEMM", ("N", "K", _UNUSED, _UNUSED, _UNUSED, _UNUSED)),
    1: ("CONV", ("K", "C", "Y", "X", "R", "S")),
    2: ("DSCONV", (_UNUSED, "C", "Y", "X", "R", "S")),
    3: ("GEMM", ("M", "N", "K", _UNUSED, _UNUSED, _UNUSED)),
}
"""Type code -> operator and what the six extents are; 0 is a linear layer for one input row."""


def read_gamma_csv(path: str | Path) -> tuple[Layer, ...]:
    """Read all layers of a file, named ``<stem>_l<row>``.

    Raises:
        LayerError: naming the file and the line at fault.
    """
    path = Path(path)
    lines = _read(path)
    if len(lines) < 2:
        raise LayerError(f"{str(path)!r}: no layers; write a header, then one row per layer")
    (number, header), *rows = lines
    with _located(path, number):
        _check_header(header)
    layers = []
    for index, (number, cells) in enumerate(rows):
        with _located(path, number):
            layers.append(_layer(cells, len(header), f"{path.stem}_l{index}"))
    return tuple(layers)


def _read(path: Path) -> list[tuple[int, list[str]]]:
    """Return the number and the cells of every line that is not blank."""
    try:
        text = read_text(path, _MAX_CHARACTERS, encoding="utf-8-sig", newline="")
        reader = csv.reader(StringIO(text, newline=""))
        return [(reader.line_num, [cell.strip() for cell in row]) for row in reader if row]
    except (OSError, ValueError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise LayerError(f"{str(path)!r} cannot be read as a CSV file: {reason}") from None


@contextmanager
def _located(path: Path, number: int) -> Iterator[None]:
    try:
        yield
    except LayerError as error:
        raise LayerError(f"{str(path)!r}, line {number}: {error}") from None


def _check_header(header: list[str]) -> None:
    columns = header[:-1] if header[-1] == _STRIDE else header
    if ",".join(columns) not in _HEADERS:
        raise LayerError(
            f"unknown header {quoted(','.join(header))}; "
            f"allowed: {' or '.join(_HEADERS)}, then optionally {_STRIDE}"
        )


def _layer(cells: Sequence[str], width: int, name: str) -> Layer:
    if len(cells) != width:
        raise LayerError(f"{len(cells)} cells, but the header has {width} columns")
    numbers = [integer(cell) for cell in cells]
    extents, code, stride = numbers[:6], numbers[6], numbers[7] if width > 7 else 1
    if code not in _TYPES:
        allowed = ", ".join(f"{code} ({operator})" for code, (operator, _) in _TYPES.items())
        raise LayerError(f"unknown type code T = {code}; allowed: {allowed}")
    operator, names = _TYPES[code]
    named = _named(names, extents)
    if operator == "GEMM":
        named = {"M": 1, **named}
    return Layer(operator, named, (stride, stride), name)


def _named(names: Sequence[str], extents: Sequence[int]) -> dict[str, int]:
    named: dict[str, int] = {}
    for position, (name, extent) in enumerate(zip(names, extents, strict=True), start=1):
        if name != _UNUSED:
            named[name] = extent
        elif extent != 1:
            raise LayerError(
                f"cell {position} is {extent}, but this type has no use for it; write 1"
            )
    return named
