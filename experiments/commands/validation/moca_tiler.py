"""Which tiles the software of MoCA's Gemmini chooses (gemmini-rocc-tests 691e5475, its tiler).

A tile takes at most half of the scratchpad and of the accumulator, as the next one is loaded
meanwhile. Rows of the scratchpad are 16 words, of the accumulator 16 sums.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_BLOCK = 16
_LONG = 64
_SCRATCHPAD_ROWS, _ACCUMULATOR_ROWS = 4096, 512
_SQUARE, _INNER = 5, 25  # blocks that a product begins with

Tile = dict[str, int]


class TileError(Exception):
    """The software finds no tile of a layer."""


@dataclass(frozen=True)
class Convolution:
    """A convolution, and the pooling that follows it.

    Args:
        extents: images N, pooled rows P and columns Q, filters K, window R and S, channels C.
        stride: of the window.
        padding: of the inputs.
        pool: size of the pooling window; 1 without pooling.
        step: its stride.
    """

    extents: Mapping[str, int]
    stride: int
    padding: int
    pool: int = 1
    step: int = 1


def _blocks(words: int) -> int:
    return -(-words // _BLOCK)


def product_tile(rows: int, columns: int, inner: int) -> tuple[int, int, int]:
    """Return the tile of a matrix product: rows, columns and the dimension that is summed over.

    From a square of blocks on, columns, rows and the inner dimension grow by a block in turn.
    """

    def fits(i: int, j: int, k: int) -> bool:
        return (i + j) * k * _BLOCK <= _SCRATCHPAD_ROWS and i * j * _BLOCK <= _ACCUMULATOR_ROWS

    most = [_blocks(rows), _blocks(columns), _blocks(inner)]
    tile = [min(each) for each in zip(most, (_SQUARE, _SQUARE, _INNER), strict=True)]
    before: list[int] = []
    while tile != before:
        before = list(tile)
        for dim in (1, 0, 2):
            tile[dim] += 1
            if tile[dim] > most[dim] or not fits(*tile):
                tile[dim] -= 1
    return tile[0] * _BLOCK, tile[1] * _BLOCK, tile[2] * _BLOCK


def convolution_tile(layer: Convolution) -> Tile:
    """Return the tile of a convolution, by the dimensions of ``Convolution.extents``.

    One extent after the other shrinks until the tile fits; then they grow in turn.

    Raises:
        TileError: it never fits.
    """
    tile = dict(layer.extents)
    seen: set[tuple[int, ...]] = set()
    while not _fits(layer, tile):
        # The rule may come back to a tile, or to nothing.
        if min(tile.values()) < 1 or tuple(tile.values()) in seen:
            raise TileError(f"no tile of {dict(layer.extents)} fits half of the memories")
        seen.add(tuple(tile.values()))
        _shrink(layer, tile)
    _grow(layer, tile)
    return tile


def _fits(layer: Convolution, tile: Tile) -> bool:
    rows, columns = (tile[dim] * layer.step + layer.pool - 1 for dim in "PQ")
    window = tile["R"], tile["S"]
    height, width = (
        outputs * layer.stride + taps - 1
        for outputs, taps in zip((rows, columns), window, strict=True)
    )
    inputs = _blocks(tile["C"]) * tile["N"] * height * width
    filters = _blocks(tile["K"]) * window[0] * window[1] * tile["C"]
    sums = _blocks(tile["K"]) * tile["N"] * rows * columns
    return inputs + filters <= _SCRATCHPAD_ROWS and sums <= _ACCUMULATOR_ROWS


def _too_large(layer: Convolution, tile: Tile) -> str:
    """Return the extent that shrinks next: images, columns, window and rows, or the largest."""
    if tile["N"] > 1:
        return "N"
    pooled = layer.step > 1
    few_channels = tile["C"] == _LONG or (pooled and tile["C"] >= _BLOCK)
    if few_channels and tile["K"] <= _LONG:
        first = ("Q", _BLOCK), ("R", 1), ("S", 1), ("P", 1), ("C", _BLOCK), ("K", _BLOCK)
        return next((dim for dim, least in first if tile[dim] > least), "P")
    least = dict.fromkeys("KC", _BLOCK) | {"Q": _BLOCK if tile["P"] > 1 else 0}
    return max((dim for dim in "QRSPKC" if tile[dim] > least.get(dim, 0)), key=tile.__getitem__)


def _shrink(layer: Convolution, tile: Tile) -> None:
    dim = _too_large(layer, tile)
    if dim in "KC":
        _shrink_channels(layer, tile, dim)
    elif dim == "Q":
        ragged = tile["Q"] % _BLOCK
        tile["Q"] -= ragged or _BLOCK // layer.step
    else:
        tile[dim] = 1 if dim in "RS" else tile[dim] - 1
    extents = layer.extents
    if (extents["C"], extents["R"], layer.padding) == (3, 3, 0):
        # The first layer keeps all filters and gives up columns.
        tile["Q"] //= -(-extents["K"] // tile["K"])
        tile["K"] = extents["K"]


def _shrink_channels(layer: Convolution, tile: Tile, dim: str) -> None:
    """Shrink channels or filters; of few, shrink what else there is."""
    size = tile[dim]
    if size > _LONG and size % _LONG:
        tile[dim] = size // _LONG * _LONG
    elif size > _LONG or layer.step > 1:
        tile[dim] = max(1, size // 2 if size % (2 * _BLOCK) == 0 else (size - 1) // _BLOCK * _BLOCK)
    elif tile["R"] > 1:
        tile["R"] = 1
    elif tile["S"] > 1:
        tile["S"] -= 1
    elif tile["C"] < _BLOCK:
        tile[dim] = max(1, tile[dim] // 2)
    elif tile["P"] > 4:
        tile["P"] //= 2
    else:
        tile["Q"] = _BLOCK


def _grow(layer: Convolution, tile: Tile) -> None:
    windows = 2  # the first to grow does so by two
    grown = True
    while grown:
        grown = False
        for dim in "SCRKQPN":
            more = tile[dim] if dim in "KC" else windows if dim in "RS" else 1
            if dim == "Q" and tile["Q"] % _BLOCK == 0:
                more = _BLOCK
            larger = tile | {dim: tile[dim] + more}
            if larger[dim] <= layer.extents[dim] and _fits(layer, larger):
                tile[dim], windows, grown = larger[dim], 1, True
