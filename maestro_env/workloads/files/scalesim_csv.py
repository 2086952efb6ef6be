"""Reads the topologies of SCALE-Sim (github.com/scalesim-project/SCALE-Sim).

A row is a convolution, whose inputs contain the padding, or a matrix product. As in SCALE-Sim, a
row whose name has ``DP`` in it is depthwise, and the last window may begin where too little of the
input is left: the input is enlarged by what is missing.
"""

from __future__ import annotations

import re
from pathlib import Path

from maestro_env.base.csv_rows import read_rows
from maestro_env.base.errors import LayerError, NetworkError, quoted
from maestro_env.workloads.axes import Axis
from maestro_env.workloads.collection import Collection
from maestro_env.workloads.custom import integer
from maestro_env.workloads.lowering import Convolution, Product, Work
from maestro_env.workloads.network import Network

_HEADER = re.compile(r"layer( ?name)?", re.IGNORECASE)
_GEMM = ["m", "n", "k"]
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


def is_scalesim(header: list[str]) -> bool:
    """Whether a header is one of SCALE-Sim's."""
    return bool(header and _HEADER.fullmatch(header[0]))


def read_scalesim_csv(path: str | Path) -> Network:
    """Read the network of a topology file.

    Raises:
        NetworkError: naming the file and the line at fault.
    """
    path = Path(path)
    number = 1
    try:
        (number, header), *rows = read_rows(path) or [(1, [""])]
        columns = [cell.lower() for cell in header[1:] if cell]
        products = columns[:3] == _GEMM
        if not products and tuple(columns[:7]) != _CONVOLUTION:
            allowed = ", ".join(_CONVOLUTION)
            raise LayerError(f"unknown header; allowed: layer name, {allowed}; or layer, m, n, k")
        collection = Collection(path.stem)
        for number, cells in rows:  # noqa: B007 - the handler reads it
            if any(cells):
                _add(collection, cells, products)
        return collection.network()
    except LayerError as error:
        raise NetworkError(f"{str(path)!r}, line {number}: {error}") from None


def _add(collection: Collection, cells: list[str], products: bool) -> None:
    name, *values = (cell for cell in cells if cell)
    width = 3 if products else 7
    sizes, more = values[:width], values[width:]
    sparse = [value for value in more if ":" in value]
    repeats = [value for value in more if ":" not in value]
    if len(sizes) < width or len(repeats) > products:
        raise LayerError(f"{quoted(','.join(cells))} has too few or too many cells")
    numbers = [integer(value) for value in sizes]
    if products:
        rows, columns, inner = numbers
        work: Work = Product(rows, inner, columns, integer(repeats[0]) if repeats else 1)
    else:
        work = _convolution(collection, name, numbers)
    if sparse and sparse != ["1:1"]:
        collection.note(_SPARSE, name)
    _check(work)
    collection.add(name, "GEMM" if products else "CONV", lambda: [work])


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


def _check(work: Work) -> None:
    """Raise the ``LayerError`` of a layer that cannot be, which here is a fault of the file."""
    work.layers("")
