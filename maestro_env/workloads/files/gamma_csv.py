"""Reads the networks of GAMMA (github.com/maestro-project/gamma, ``data/model/*.csv``).

A row is a layer: six extents, a type code and optionally a stride. As in GAMMA, the type code of a
row, not the header, defines the extents. GAMMA's own files have no strides, and their Y and X leave
out the padding; the reader does not add it.
"""

from __future__ import annotations

from pathlib import Path

from maestro_env.base.csv_rows import read_rows
from maestro_env.base.errors import LayerError, quoted
from maestro_env.workloads.custom import integer
from maestro_env.workloads.layer import Layer

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
    path = Path(path)
    lines = read_rows(path)
    if len(lines) < 2:
        raise LayerError(f"{str(path)!r}: no layers; write a header, then one row per layer")
    (number, header), *rows = lines
    layers: list[Layer] = []
    try:
        _check_header(header)
        for number, cells in rows:  # noqa: B007 - the handler reads it
            layers.append(_layer(cells, len(header), f"{path.stem}_l{len(layers)}"))
    except LayerError as error:
        raise LayerError(f"{str(path)!r}, line {number}: {error}") from None
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
    numbers = [integer(cell) for cell in cells]
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
