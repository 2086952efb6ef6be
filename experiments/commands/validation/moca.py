"""Cycles of MoCA's Gemmini beside those of the model ``hierarchy``, for its software's tiles.

Another group's Gemmini: other memories, software and system than the one that constants are fitted
on (github.com/ucb-bar/gemmini, 9172f835, ``software/moca-data``). docs/validation.md has the
columns.
"""

from __future__ import annotations

import math
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
from maestro_env.experiments.commands.validation.gemmini import ARRAY, BUS_BYTES, fitted, unfitted
from maestro_env.experiments.commands.validation.gemmini_forms import Constants, described
from maestro_env.experiments.commands.validation.moca_tiler import (
    Convolution,
    TileError,
    convolution_tile,
    product_tile,
)
from maestro_env.experiments.shell.files import RecordError, read_csv
from maestro_env.hierarchy.bounds import lower_bound
from maestro_env.hierarchy.evaluation import NestMapping
from maestro_env.hierarchy.shape import Shape

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
