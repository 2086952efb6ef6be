"""Cycles of MoCA's Gemmini beside those of the model ``hierarchy``, for its software's tiles.

Another group's Gemmini: other memories, software and system than the one that constants are fitted
on (github.com/ucb-bar/gemmini, 9172f835, ``software/moca-data``). docs/validation.md has the
columns.

Which tiles the software of MoCA's Gemmini chooses (gemmini-rocc-tests 691e5475, its tiler).

A tile takes at most half of the scratchpad and of the accumulator, as the next one is loaded
meanwhile. Rows of the scratchpad are 16 words, of the accumulator 16 sums.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.experiments.commands.validation.agreement import (
    Cells,
    Run,
    busiest,
    cost_of,
    latencies,
    print_groups,
    print_left_out,
    print_models,
    print_worst,
    with_parts,
)
from maestro_env.experiments.commands.validation.gemmini import (
    ARRAY,
    BUS_BYTES,
    Constants,
    described,
    fitted,
    unfitted,
)
from maestro_env.experiments.shell.files import RecordError, read_csv
from maestro_env.hierarchy.bounds import lower_bound
from maestro_env.hierarchy.evaluation import NestMapping
from maestro_env.hierarchy.shape import Shape

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


_SCRATCHPAD = 128 * 2**13  # bits; sp_capacity of MOCAGemminiConfig
_CACHE = 2 * 2**23  # the L2 of the system
# A convolution's timer stops when its last command is accepted, with tiles still on their way.
_TIMED_TILES = 9
# What DOSA's training rows give for a model that has no refill (`validation gemmini --training`).
_WITHOUT_REFILL = Constants(75.4, 3.44, 199.0, step_cycles=8, refill=0.0)


@dataclass(frozen=True)
class Layer(Run):
    """A layer with the tiles of MoCA's software.

    Args:
        own_shape: of the layer, without what pooled tiles compute twice.
        tiles: that it is cut into.
        own_cycles: what MoCA's own model says.
        convolution: whether it is one; else a matrix product, whose timer waits for its end.
    """

    own_shape: Shape
    tiles: int
    own_cycles: float
    convolution: bool

    @property
    def flaw(self) -> str:
        """Why its cycles cannot be the layer's; empty if they can."""
        if self.cycles * ARRAY**2 < self.own_shape.macs:
            return "impossible: more than 256 MACs a cycle"
        if self.convolution and self.tiles < _TIMED_TILES:
            return "untimed: few tiles, and the timer stops before the last ones end"
        return ""


def read_layers(path: Path) -> list[Layer]:
    """Read the table.

    Raises:
        RecordError: it cannot be read, or a cell is wrong.
    """
    rows = [Cells(row, f"{path}, row {n}") for n, row in enumerate(read_csv(path), 1)]
    if not rows:
        raise RecordError(f"{path} has no rows; give the table of MoCA's layers")
    return [_layer(cells) for cells in rows]


def _layer(cells: Cells) -> Layer:
    convolution = cells.choice("operator", ("conv2d", "gemm")) == "conv2d"
    outputs = {dim: cells.integer(dim) for dim in "PQ"}
    shape, mapping = (_convolution if convolution else _product)(cells)
    counts = (math.ceil(shape.extents.get(dim, 1) / tile) for dim, tile in mapping[0])
    return Layer(
        name=cells.text("id"),
        network=cells.text("network"),
        shape=shape,
        own_shape=replace(shape, extents={**shape.extents, **outputs}),
        mapping=mapping,
        cycles=cells.number("cycles_median"),
        tiles=math.prod(counts),
        own_cycles=cells.number("own_prediction"),
        convolution=convolution,
    )


def _product(cells: Cells) -> tuple[Shape, NestMapping]:
    extents = {dim: cells.integer(dim) for dim in "PKC"}
    tile = dict(zip("PKC", product_tile(*extents.values()), strict=True))
    blocks = [(dim, ARRAY) for dim in "KCP"]
    return Shape(extents), _mapping([(dim, tile[dim]) for dim in "PKC"], blocks)


def _convolution(cells: Cells) -> tuple[Shape, NestMapping]:
    """Return the loops of a convolution, with outputs that two pooled tiles both compute."""
    pooled = cells.integer("pooled")
    extents = {dim: cells.integer(dim) for dim in "NKCRS"}
    sizes = {name: cells.integer(name) for name in ("stride", "pool_size", "pool_stride")}
    pool, step = sizes["pool_size"], sizes["pool_stride"]
    layer = Convolution(
        extents | {"P": pooled, "Q": pooled},
        sizes["stride"],
        cells.integer("padding", 0),
        pool,
        step,
    )
    try:
        tile = convolution_tile(layer)
    except TileError as error:
        raise RecordError(f"row {cells.text('id')}: {error}") from None
    computed = dict(extents)
    for dim in "PQ":
        whole, rest = divmod(pooled, tile[dim])
        tile[dim] = tile[dim] * step + pool - 1
        computed[dim] = whole * tile[dim] + (rest * step + pool - 1 if rest else 0)
    blocks = [("K", ARRAY), ("R", 1), ("S", 1), ("C", ARRAY), ("P", 1), ("Q", ARRAY)]
    order = [(dim, tile[dim]) for dim in "NKPQRSC"]
    return Shape(computed, (sizes["stride"],) * 2), _mapping(order, blocks)


def _mapping(tiles: list[tuple[str, int]], blocks: list[tuple[str, int]]) -> NestMapping:
    """Return the loops of DRAM, scratchpad, accumulator, rows, columns and registers."""
    return [tiles, [], blocks, [("C", 1)], [("K", 1)], []]


# --- Predictions --------------------------------------------------------------------------------


def moca(gemmini: Hierarchy) -> Hierarchy:
    """Return MoCA's machine: a Gemmini with another scratchpad and cache."""
    dram = gemmini.elements[0]
    cache = getattr(dram, "cache", None)
    parts = {"scratchpad": {"capacity_bits": _SCRATCHPAD}}
    if cache is not None:
        parts[dram.name] = {"cache": replace(cache, bits=_CACHE)}
    return with_parts(gemmini, **parts)


# --- Tables -------------------------------------------------------------------------------------


def compare(path: Path) -> None:
    """Print how well the model follows the rows of a file, each layer and tile once."""
    rows = read_layers(path)
    shapes = {repr((each.shape, each.mapping)): each for each in reversed(rows) if not each.flaw}
    layers = list(reversed(shapes.values()))
    if not layers:
        raise RecordError(f"{path} has no row whose cycles can be those of its layer")
    measured = np.array([each.cycles for each in layers])
    model, plain = latencies(layers, moca(fitted())), moca(unfitted())
    costs = [cost_of(each, plain) for each in layers]
    own = np.array([each.own_cycles for each in layers])
    models = {
        "MACs / 256": np.array([each.own_shape.macs / ARRAY**2 for each in layers]),
        "largest of array and bytes / 16": np.array([busiest(cost, BUS_BYTES) for cost in costs]),
        "least of any mapping, nothing fitted": np.array(
            [lower_bound(each.own_shape, plain).latency_cycles for each in layers]
        ),
        "hierarchy, nothing fitted": np.array([cost.latency_cycles for cost in costs]),
        "hierarchy without refill": latencies(layers, moca(described(_WITHOUT_REFILL))),
        "hierarchy": model,
        "MoCA's own model": own,
    }
    note = "constants of gemmini are fitted on DOSA's rows; MoCA's own model on such runs as these"
    print_models(f"{len(layers)} layers on MoCA's Gemmini", measured, models, note)
    networks = [each.network for each in layers]
    print_groups("By network", networks, measured, {"hierarchy": model, "MoCA's own": own})
    print_worst("Worst runs of hierarchy", [each.name for each in layers], measured, model)
    print_left_out((each.name, each.flaw) for each in rows if each.flaw)
