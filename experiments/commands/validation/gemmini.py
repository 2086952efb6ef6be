"""Cycles of Gemmini's RTL beside those of the model ``hierarchy``, for the same mappings.

The files are those of DOSA (github.com/ucb-bar/dosa, a7a3239), in ``data``:
``firesim_test_data/dataset.csv`` and ``firesim_training_data/firesim_results.csv``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from maestro_env.accelerators.finding import find_hierarchy
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.base.errors import quoted
from maestro_env.experiments.commands.validation.agreement import (
    Cells,
    Floats,
    busiest,
    print_models,
    print_worst,
    with_parts,
)
from maestro_env.experiments.shell.files import RecordError, read_csv
from maestro_env.hierarchy.bounds import lower_bound
from maestro_env.hierarchy.evaluation import HierarchyCost, HierarchyEvaluator, NestMapping
from maestro_env.hierarchy.shape import Shape

ARRAY = 16
"""Rows and columns of the array whose runs are compared."""

BUS_BYTES = 16
"""Bytes a cycle of its bus (``dma_buswidth``)."""

_DIMS = "NCKPQRS"
_LOOP = re.compile(rf"([{_DIMS}])([1-9][0-9]{{0,8}})(X?)")
_LEVEL = re.compile(r"L[0-3]\[[WIO]*\]")
# Outermost first, as in tiled_conv of gemmini-rocc-tests (180c468, include/gemmini.h): sums of a
# tile of outputs are complete before the next one.
_TILES = "PQKRSC"
_BLOCKS = (("K", ARRAY), ("R", 1), ("S", 1), ("C", ARRAY), ("Q", 1))


@dataclass(frozen=True)
class Measured:
    """A mapping of a layer, and the cycles that it took.

    Args:
        text: the mapping in Timeloop's short form.
        shape: of the layer.
        tile: extents of what is loaded at a time, by dimension.
        order: dimensions of the loops over tiles, outermost first.
        units: largest number of units of one spatial loop.
        cycles: of the RTL.
        timeloop_cycles: of Timeloop.
    """

    text: str
    shape: Shape
    tile: Mapping[str, int]
    order: Sequence[str]
    units: int
    cycles: float
    timeloop_cycles: float

    def mapping(self, order: Sequence[str] = _TILES) -> NestMapping:
        """Return what Gemmini's software does with the tiles, in some order of their loops.

        Inside a tile it always moves blocks of 16 x 16 filter words past rows of outputs, whatever
        the mapping says.
        """
        tiles = [(dim, self.tile[dim]) for dim in order]
        return [tiles, [], list(_BLOCKS), [("C", 1)], [("K", 1)], []]

    @cached_property
    def blocks(self) -> int:
        """Blocks of filter words that all tiles need."""
        tiles = math.prod(self.shape.extents[dim] // self.tile[dim] for dim in _DIMS)
        channels = math.ceil(self.tile["C"] / ARRAY) * math.ceil(self.tile["K"] / ARRAY)
        return tiles * channels * self.tile["R"] * self.tile["S"]

    @property
    def trains(self) -> bool:
        """Whether constants may be fitted on it, as its array has 16 x 16 PEs.

        The published training rows are of several sizes of the array. Those of the largest spatial
        factors tell it, but not for layers that are no square convolutions, whose cycles are
        erratic.
        """
        size = self.shape.extents
        square = size["P"] == size["Q"] > 1 and size["R"] == size["S"]
        return square and size["R"] % 2 == 1 and ARRAY // 2 < self.units <= ARRAY


# --- Rows ---------------------------------------------------------------------------------------


def read_measured(path: Path) -> list[Measured]:
    """Read a file of DOSA's.

    Raises:
        RecordError: it cannot be read, or a row has no such mapping of its layer.
    """
    rows = read_csv(path)
    if not rows:
        raise RecordError(f"{path} has no rows; give a CSV file of DOSA's, with measured mappings")
    return [_measured(row, f"{path}, row {number}") for number, row in enumerate(rows, 1)]


def _measured(row: Mapping[str, str], where: str) -> Measured:
    cells = Cells(row, where)
    extents = {dim: cells.integer(f"prob.{dim}") for dim in _DIMS}
    stride = cells.integer("prob.Wstride"), cells.integer("prob.Hstride")
    text = row.get("mapping.mapping") or ""
    levels = [_loops(level, f"{where}: mapping") for level in text.split(" - ")]
    factors = dict.fromkeys(_DIMS, 1)
    for dim, count, _ in (loop for level in levels for loop in level):
        factors[dim] *= count
    if factors != extents:
        raise RecordError(
            f"{where}: mapping {quoted(text)} has {factors}; allowed: the layer's {extents}"
        )
    outer = {dim: count for dim, count, spatial in levels[0] if not spatial}
    return Measured(
        text,
        Shape(extents, stride),
        {dim: extent // outer.get(dim, 1) for dim, extent in extents.items()},
        list(outer),
        max((count for level in levels for _, count, spatial in level if spatial), default=1),
        cells.number("target.gemmini_cycle"),
        cells.number("target.cycle"),
    )


def _loops(level: str, where: str) -> list[tuple[str, int, bool]]:
    """Return dimension, count and whether it is spatial, of each loop of a level."""
    name, _, loops = level.partition(" ")
    found = [_LOOP.fullmatch(loop) for loop in loops.split()]
    if not _LEVEL.fullmatch(name) or None in found:
        raise RecordError(
            f"{where} has the level {quoted(level)}; allowed: such as L3[WIO] K48 C2X"
        )
    return [(each[1], int(each[2]), each[3] == "X") for each in found if each]


# --- Predictions --------------------------------------------------------------------------------


def fitted() -> Hierarchy:
    """Return Gemmini as it comes with the package, and software that loads each tile again."""
    return with_parts(find_hierarchy("gemmini"), scratchpad={"forgets": ("input", "filter")})


def unfitted() -> Hierarchy:
    """Return it with what its sources say alone: a bus of 16 bytes and steps of 4 cycles."""
    dram = {"bw": 8 * BUS_BYTES, "cache": None, "refill": 0.0}
    steps = {"scratchpad": {"launch_cycles": 0}, "registers": {"step_cycles": 4}}
    return with_parts(fitted(), DRAM=dram, **steps)


def costs(
    rows: Sequence[Measured], hierarchy: Hierarchy, given_order: bool = False
) -> list[HierarchyCost]:
    """Return what mappings cost, in the software's order of tiles or in the given one."""
    found = []
    for row in rows:
        order = row.order if given_order else _TILES
        cost, status = HierarchyEvaluator(row.shape, hierarchy).evaluate(row.mapping(order))
        if cost is None:
            raise RecordError(f"mapping {quoted(row.text)} is {status}; give rows of Gemmini's")
        found.append(cost)
    return found


def latencies(rows: Sequence[Measured], hierarchy: Hierarchy) -> Floats:
    """Return cycles, float64[N]."""
    return np.array([each.latency_cycles for each in costs(rows, hierarchy)])


def bound(rows: Sequence[Measured]) -> Floats:
    """Return cycles that nothing can be below: of the array alone, and of the bus, float64[N]."""
    return np.array([busiest(cost, BUS_BYTES) for cost in costs(rows, unfitted())])


# --- Tables -------------------------------------------------------------------------------------


def agree(rows: Sequence[Measured]) -> None:
    """Print how well the model follows measured mappings."""
    measured = np.array([row.cycles for row in rows])
    model = latencies(rows, fitted())
    models = {
        "MACs / 256": np.array([row.shape.macs / ARRAY**2 for row in rows]),
        "Timeloop": np.array([row.timeloop_cycles for row in rows]),
        "largest of array and bytes / 16": bound(rows),
        "least of any mapping, nothing fitted": np.array(
            [lower_bound(row.shape, unfitted()).latency_cycles for row in rows]
        ),
        "least of any mapping": np.array(
            [lower_bound(row.shape, fitted()).latency_cycles for row in rows]
        ),
        "hierarchy, nothing fitted": latencies(rows, unfitted()),
        "hierarchy": model,
    }
    full = sum(each.status != "ok" for each in costs(rows, unfitted()))
    note = f"tiles of {full} are larger than scratchpad or accumulator; they count all the same"
    print_models(f"{len(rows)} mappings on Gemmini's RTL", measured, models, note)
    print_worst("Worst mappings of hierarchy", [row.text for row in rows], measured, model)
