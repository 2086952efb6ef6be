"""Reads layers from CSV files: of GAMMA, and topologies of SCALE-Sim.

GAMMA (github.com/maestro-project/gamma, ``data/model/*.csv``): a row is a layer: six extents, a
type code and optionally a stride. As there, the type code of a row, not the header, defines the
extents. Its own files have no strides, and their Y and X leave out the padding; it is not added.

SCALE-Sim (github.com/scalesim-project/SCALE-Sim): a row is a convolution, whose inputs contain the
padding, or a matrix product. As there, the first line is passed over, a row whose name has ``DP``
in it is depthwise, and the last window may begin where too little of the input is left: the input
is enlarged by what is missing.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import StringIO
from itertools import zip_longest
from pathlib import Path

from maestro_env.base.checks import plain_integer
from maestro_env.base.errors import LayerError, NetworkError, quoted
from maestro_env.base.reading import read_or_refuse
from maestro_env.workloads.layer import Layer
from maestro_env.workloads.lowering import Axis, Convolution, Product, Work
from maestro_env.workloads.network import Collection, Network

_MAX_CHARACTERS = 2**20

_Row = tuple[int, list[str]]
"""The number of a line, and its cells."""


def read_csv_network(path: str | Path, dims: Mapping[str, int] | None = None) -> Network:
    """Read the network of a file of GAMMA or SCALE-Sim, which the header tells apart.

    Args:
        path: of the file.
        dims: a number for every name that stands for one.

    Raises:
        LayerError: naming the file and the line at fault.
        NetworkError: there are no layers.
    """
    return _read(path, dims or {}).network()


def read_csv_layers(path: str | Path) -> list[Layer]:
    """Read the layers of all rows of such a file.

    Raises:
        LayerError: naming the file and the line at fault.
    """
    return _read(path, {}).layers


def _read(path: str | Path, dims: Mapping[str, int]) -> Collection:
    rows, collection = _read_rows(path, dims), Collection(Path(path).stem)
    if _is_topology(rows):
        _topology(path, rows, collection)
    else:
        collection.layers += _gamma(path, rows)
    return collection


def _read_rows(path: str | Path, dims: Mapping[str, int]) -> list[_Row]:
    """Return every line that is not blank, with numbers in the place of names."""
    text = read_or_refuse(path, _MAX_CHARACTERS, LayerError, encoding="utf-8-sig", newline="")
    first = text.partition("\n")[0]
    tabs = "\t" in first and "," not in first
    reader = csv.reader(StringIO(text, newline=""), delimiter="\t" if tabs else ",")
    try:
        stripped = ((reader.line_num, [cell.strip() for cell in row]) for row in reader)
        rows = [(number, cells) for number, cells in stripped if any(cells)]
    except csv.Error as error:
        raise LayerError(f"{path} cannot be read: {error}") from None
    names = {cell for _, cells in rows[1:] for cell in cells[1:] if cell.isidentifier()}
    if unknown := sorted(dims.keys() - names):
        raise NetworkError(f"{str(path)!r} has no open dimension {quoted(unknown[0])}")
    return [
        (number, [name, *(str(dims.get(cell, cell)) for cell in cells)])
        for number, (name, *cells) in rows
    ]


@contextmanager
def _line(path: str | Path, number: int) -> Iterator[None]:
    try:
        yield
    except LayerError as error:
        raise LayerError(f"{str(path)!r}, line {number}: {error}") from None


def _integer(text: str) -> int:
    number = plain_integer(text)
    if number is None:
        hint = f"; an open dimension is given by --dim {text}=1" if text.isidentifier() else ""
        raise LayerError(f"{quoted(text)} is not an integer of at most 18 digits 0 to 9{hint}")
    return number


# --- GAMMA ----------------------------------------------------------------------------------------

_HEADERS = ("K,C,Y,X,R,S,T", "M,N,K,0,0,0,T", "O,I,0,0,0,0,T")
_STRIDE = "stride"

# Type code -> operator and what the six extents are; 0 is a linear layer for one input row.
_UNUSED = ""
_TYPES = {
    0: ("GEMM", ("N", "K", _UNUSED, _UNUSED, _UNUSED, _UNUSED)),
    1: ("CONV", ("K", "C", "Y", "X", "R", "S")),
    2: ("DSCONV", (_UNUSED, "C", "Y", "X", "R", "S")),
    3: ("GEMM", ("M", "N", "K", _UNUSED, _UNUSED, _UNUSED)),
}


def _gamma(path: str | Path, rows: list[_Row]) -> tuple[Layer, ...]:
    """Return all layers, named ``<stem>_l<row>``."""
    if len(rows) < 2:
        raise LayerError(f"{str(path)!r}: no layers; write a header, then one row per layer")
    (number, header), *rows = rows
    with _line(path, number):
        if not _is_gamma(header):
            raise LayerError(
                f"unknown header {quoted(','.join(header))}; "
                f"allowed: {' or '.join(_HEADERS)}, then optionally {_STRIDE}; or SCALE-Sim's rows"
            )
    layers: list[Layer] = []
    for number, cells in rows:
        with _line(path, number):
            layers.append(_layer(cells, len(header), f"{Path(path).stem}_l{len(layers)}"))
    return tuple(layers)


def _is_gamma(header: list[str]) -> bool:
    columns = header[:-1] if header[-1] == _STRIDE else header
    return ",".join(columns) in _HEADERS


def _layer(cells: list[str], width: int, name: str) -> Layer:
    if len(cells) != width:
        raise LayerError(f"{len(cells)} cells, but the header has {width} columns")
    numbers = [_integer(cell) for cell in cells]
    numbers, code, stride = numbers[:6], numbers[6], numbers[7] if width > 7 else 1
    if code not in _TYPES:
        allowed = ", ".join(f"{code} ({operator})" for code, (operator, _) in _TYPES.items())
        raise LayerError(f"unknown type code T = {code}; allowed: {allowed}")
    operator, names = _TYPES[code]
    extents = {"M": 1} if operator == "GEMM" else {}
    for position, (dim, extent) in enumerate(zip(names, numbers, strict=True), start=1):
        if dim != _UNUSED:
            extents[dim] = extent
        elif extent != 1:
            raise LayerError(
                f"cell {position} is {extent}, but this type has no use for it; write 1"
            )
    return Layer(operator, extents, (stride, stride), name)


# --- SCALE-Sim ------------------------------------------------------------------------------------

_PRODUCT = ["m", "n", "k"]
_NUMBERS = 7
_PLACES = {"ifmap": 1, "filter": 3, "channel": 5, "stride": 7}
_NUMERIC = re.compile(r"[-+]?[0-9]")
_RATIO = re.compile(r"[0-9]+:[0-9]+")
_SPARSE = "sparsity: a layer is read as dense"
_HEADING = "a row without numbers is passed over"
_ENLARGED = "the last window: the input is enlarged to hold it"
_ONE_FILTER = (
    "one filter: read as a convolution with one output channel, as it is written; a depthwise "
    "layer has the same MACs, but other reuse (SCALE-Sim knows it by DP in its name)"
)


def _is_topology(rows: list[_Row]) -> bool:
    """Whether rows begin with names; the first one is free, as SCALE-Sim passes over it."""
    if not rows or _is_gamma(rows[0][1]):
        return False
    titled = rows[0][1][0].lower().startswith("layer")
    return titled or any(plain_integer(cells[0]) is None for _, cells in rows[1:])


def _topology(path: str | Path, rows: list[_Row], collection: Collection) -> None:
    (number, header), *rows = rows
    titles = [cell.lower() for cell in header]
    if titles[1:4] == ["k", "c", "y"]:
        with _line(path, number):
            raise LayerError(
                "K, C and Y behind a name: rows of GAMMA have no names, and end with their type; "
                f"allowed: {_HEADERS[0]}"
            )
    widest = max(sum(map(bool, cells)) for cells in (titles, *(cells for _, cells in rows)))
    is_product = titles[1:4] == _PRODUCT or widest <= _NUMBERS
    with _line(path, number):
        if len(header) > len(_PRODUCT) and None not in map(plain_integer, header[1:4]):
            raise LayerError("a layer, which SCALE-Sim passes over: write a header before it")
        for title, place in _PLACES.items():
            if any(title in each for each in titles) and title not in "".join(titles[place:][:1]):
                raise LayerError(f"{title} is not column {place + 1}, where SCALE-Sim has it")
        if sorted(titles[1:4]) == sorted(_PRODUCT) and titles[1:4] != _PRODUCT:
            raise LayerError("m, n and k are in another order")
    for number, cells in rows:
        with _line(path, number):
            _add(collection, cells, titles, is_product)


def _add(collection: Collection, cells: list[str], titles: list[str], is_product: bool) -> None:
    name, *values = cells
    if not any(map(_NUMERIC.match, values)):
        collection.note(_HEADING, name)
        return
    width = len(_PRODUCT) if is_product else _NUMBERS
    if len(values) < width or "" in values[:width]:
        raise LayerError(
            f"{quoted(','.join(cells))} has too few cells, or an empty one; allowed: a name, then "
            "height and width of input and filter, channels, filters and stride, or M, N and K"
        )
    numbers = [_integer(value) for value in values[:width]]
    times = _times(collection, name, values[width:], titles[1 + width :], is_product)
    if min(*numbers, times) < 1:
        raise LayerError("a number is 0; least: 1")
    work: Work
    if is_product:
        rows, columns, inner = numbers
        work = Product(rows, inner, columns)
    else:
        work = _convolution(collection, name, numbers)
    # A layer that cannot be is here a fault of the file.
    work.layers("")
    collection.add(name, "GEMM" if is_product else "CONV", lambda: [work], times)


def _times(
    collection: Collection, name: str, cells: list[str], titles: list[str], is_product: bool
) -> int:
    """Return the batch size in the cells after the last size."""
    times = 1
    for value, title in zip_longest(cells, titles[: len(cells)], fillvalue=""):
        if value == "1:1" or not _NUMERIC.match(value):
            # Dense, or a comment.
            continue
        if _RATIO.fullmatch(value):
            collection.note(_SPARSE, name)
        elif "batch" in title or (is_product and not title):
            times *= _integer(value)
        elif title and "stride" not in title:
            collection.note(f"the column {title} is passed over", name)
        elif title or value != "1":
            raise LayerError(f"{quoted(value)} is a cell too many: SCALE-Sim reads one stride")
    return times


def _convolution(collection: Collection, name: str, numbers: list[int]) -> Convolution:
    height, width, rows, columns, channels, filters, stride = numbers
    axes = tuple(
        Axis(size, window, stride, padding=(0, (window - size) % stride))
        for size, window in ((height, rows), (width, columns))
    )
    if any(sum(axis.padding) for axis in axes):
        collection.note(_ENLARGED, name)
    if "DP" in name:
        return Convolution(1, channels, 1, filters, axes)
    if filters == 1 and channels > 1:
        collection.note(_ONE_FILTER, name)
    return Convolution(1, 1, channels, filters, axes)
