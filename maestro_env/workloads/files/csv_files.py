"""Reads layers from CSV files: of GAMMA, and topologies of SCALE-Sim.

GAMMA (github.com/maestro-project/gamma, ``data/model/*.csv``): a row is a layer: six extents, a
type code and optionally a stride. As there, the type code of a row, not the header, defines the
extents. Its own files have no strides, and their Y and X leave out the padding; it is not added.

SCALE-Sim (github.com/scalesim-project/SCALE-Sim): a row is a convolution, whose inputs contain the
padding, or a matrix product. As there, a row whose name has ``DP`` in it is depthwise, and the last
window may begin where too little of the input is left: the input is enlarged by what is missing.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

from maestro_env.base.checks import plain_integer
from maestro_env.base.errors import LayerError, quoted
from maestro_env.base.reading import read_or_refuse
from maestro_env.workloads.axes import Axis
from maestro_env.workloads.collection import Collection
from maestro_env.workloads.layer import Layer
from maestro_env.workloads.lowering import Convolution, Product, Work
from maestro_env.workloads.network import Network, gather

_MAX_CHARACTERS = 2**20

_Row = tuple[int, list[str]]
"""The number of a line, and its cells."""


def read_csv_network(path: str | Path) -> Network:
    """Read the network of a file of GAMMA or SCALE-Sim, which the header tells apart.

    Raises:
        LayerError: naming the file and the line at fault.
        NetworkError: there are no layers.
    """
    rows, name = _read_rows(path), Path(path).stem
    if rows and _SCALESIM.fullmatch(rows[0][1][0]):
        return _topology(path, rows)
    return gather(name, read_gamma_csv(path))


def _read_rows(path: str | Path) -> list[_Row]:
    """Return every line that is not blank."""
    text = read_or_refuse(path, _MAX_CHARACTERS, LayerError, encoding="utf-8-sig", newline="")
    reader = csv.reader(StringIO(text, newline=""))
    try:
        return [(reader.line_num, [cell.strip() for cell in row]) for row in reader if row]
    except csv.Error as error:
        raise LayerError(f"{path} cannot be read: {error}") from None


@contextmanager
def _line(path: str | Path, number: int) -> Iterator[None]:
    try:
        yield
    except LayerError as error:
        raise LayerError(f"{str(path)!r}, line {number}: {error}") from None


def _integer(text: str) -> int:
    number = plain_integer(text)
    if number is None:
        raise LayerError(f"{quoted(text)} is not an integer of at most 18 digits 0 to 9")
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


def read_gamma_csv(path: str | Path) -> tuple[Layer, ...]:
    """Read all layers of a file, named ``<stem>_l<row>``.

    Raises:
        LayerError: naming the file and the line at fault.
    """
    rows = _read_rows(path)
    if len(rows) < 2:
        raise LayerError(f"{str(path)!r}: no layers; write a header, then one row per layer")
    (number, header), *rows = rows
    with _line(path, number):
        _check_header(header)
    layers: list[Layer] = []
    for number, cells in rows:
        with _line(path, number):
            layers.append(_layer(cells, len(header), f"{Path(path).stem}_l{len(layers)}"))
    return tuple(layers)


def _check_header(header: list[str]) -> None:
    columns = header[:-1] if header[-1] == _STRIDE else header
    if ",".join(columns) not in _HEADERS:
        raise LayerError(
            f"unknown header {quoted(','.join(header))}; "
            f"allowed: {' or '.join(_HEADERS)}, then optionally {_STRIDE}"
        )


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

_SCALESIM = re.compile(r"layer( ?name)?", re.IGNORECASE)
_PRODUCT = ("m", "n", "k")
_CONVOLUTION = (
    "ifmap height",
    "ifmap width",
    "filter height",
    "filter width",
    "channels",
    "num filter",
    "strides",
)
_SPARSE = "sparsity: a layer is read as dense"
_ENLARGED = "the last window: the input is enlarged to hold it"
_ONE_FILTER = (
    "one filter: read as a convolution with one output channel, as it is written; a depthwise "
    "layer has the same MACs, but other reuse (SCALE-Sim knows it by DP in its name)"
)


def _topology(path: str | Path, rows: list[_Row]) -> Network:
    (number, header), *rows = rows
    columns = tuple(cell.lower() for cell in header[1:] if cell)
    with _line(path, number):
        if columns[:3] != _PRODUCT and columns[:7] != _CONVOLUTION:
            allowed = ", ".join(_CONVOLUTION)
            raise LayerError(f"unknown header; allowed: layer name, {allowed}; or layer, m, n, k")
    collection = Collection(Path(path).stem)
    for number, cells in rows:
        with _line(path, number):
            _add(collection, [cell for cell in cells if cell], columns[:3] == _PRODUCT)
    return collection.network()


def _add(collection: Collection, cells: list[str], is_product: bool) -> None:
    if not cells:
        return
    name, *values = cells
    width = len(_PRODUCT if is_product else _CONVOLUTION)
    sizes, more = values[:width], values[width:]
    sparse = [value for value in more if ":" in value]
    repeats = [value for value in more if ":" not in value]
    if len(sizes) < width or len(repeats) > is_product:
        raise LayerError(f"{quoted(','.join(cells))} has too few or too many cells")
    numbers = [_integer(value) for value in sizes]
    if is_product:
        rows, columns, inner = numbers
        work: Work = Product(rows, inner, columns, _integer(repeats[0]) if repeats else 1)
    else:
        work = _convolution(collection, name, numbers)
    if sparse and sparse != ["1:1"]:
        collection.note(_SPARSE, name)
    # A layer that cannot be is here a fault of the file.
    work.layers("")
    collection.add(name, "GEMM" if is_product else "CONV", lambda: [work])


def _convolution(collection: Collection, name: str, numbers: list[int]) -> Convolution:
    height, width, rows, columns, channels, filters, stride = numbers
    if min(numbers) < 1:
        raise LayerError("a number is 0; least: 1")
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
