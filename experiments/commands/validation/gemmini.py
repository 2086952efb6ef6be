"""Cycles of Gemmini's RTL beside those of the model ``hierarchy``, for the same mappings.

The files are those of DOSA (github.com/ucb-bar/dosa, a7a3239), in ``data``:
``firesim_test_data/dataset.csv`` and ``firesim_training_data/firesim_results.csv``. Constants of
Gemmini's description can be fitted on training rows, for forms without parts of the model too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from maestro_env.accelerators.elements import Cache
from maestro_env.accelerators.finding import find_hierarchy
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.base.errors import quoted
from maestro_env.experiments.commands.validation.agreement import (
    AGREEMENT,
    REFILL,
    Cells,
    Floats,
    agreement,
    busiest,
    least,
    loss,
    print_models,
    print_worst,
    with_parts,
)
from maestro_env.experiments.shell.files import RecordError, read_csv
from maestro_env.experiments.shown.progress import Bar
from maestro_env.experiments.shown.tables import Table
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


_MIB = 2**23  # bits
_CACHES = (0.25, 0.5, 1.0, 2.0, 4.0)
_STEPS = range(4, 11)
_LINE_BITS = 512
_REAL = ("bits_per_cycle", "miss_cycles", "launch_cycles")

Latency = Callable[[HierarchyCost, Measured], float]


@dataclass(frozen=True)
class Constants:
    """What is fitted.

    Args:
        bits_per_cycle: of the bus.
        miss_cycles: of a line of a tensor that exceeds the cache.
        launch_cycles: of a tile.
        step_cycles: least of a row of outputs past a block of filter words.
        cache_mib: size of the cache.
        refill: share of the first fill at further tiles of outputs; given, not fitted.
    """

    bits_per_cycle: float = 80.0
    miss_cycles: float = 4.0
    launch_cycles: float = 200.0
    step_cycles: int = 6
    cache_mib: float = 1.0
    refill: float = REFILL


def described(constants: Constants) -> Hierarchy:
    """Return Gemmini with constants."""
    cache = Cache(
        bits=round(constants.cache_mib * _MIB),
        line_bits=_LINE_BITS,
        miss_cycles=constants.miss_cycles,
    )
    return with_parts(
        unfitted(),
        DRAM={"bw": constants.bits_per_cycle, "cache": cache, "refill": constants.refill},
        scratchpad={"launch_cycles": constants.launch_cycles},
        registers={"step_cycles": constants.step_cycles},
    )


def _overlapped(cost: HierarchyCost, row: Measured) -> float:
    return cost.latency_cycles


def _max_of_totals(cost: HierarchyCost, row: Measured) -> float:
    return max(cost.compute_cycles, cost.first_cycles + cost.port_cycles + cost.last_cycles)


def _serial(cost: HierarchyCost, row: Measured) -> float:
    return cost.first_cycles + cost.compute_cycles + cost.port_cycles + cost.last_cycles


def _cold(cost: HierarchyCost, row: Measured) -> float:
    """Return the latency if every block of filter words were loaded while nothing else happens."""
    compute = cost.compute_cycles + ARRAY * row.blocks
    return cost.first_cycles + max(compute, cost.port_cycles) + cost.last_cycles


@dataclass(frozen=True)
class Form:
    """The model, or the model without a part.

    Args:
        parts: of constants, the properties of elements that replace the described ones.
        latency: cycles of a cost.
        given_order: whether tiles are loaded in the order of the mapping, and stay where the next
            step needs them.
    """

    parts: Callable[[Constants], Mapping[str, Mapping[str, Any]]] = lambda _: {}
    latency: Latency = _overlapped
    given_order: bool = False

    def predict(self, rows: Sequence[Measured], constants: Constants) -> Floats:
        """Return cycles, float64[N]."""
        hierarchy = with_parts(described(constants), **self.parts(constants))
        found = zip(costs(rows, hierarchy, self.given_order), rows, strict=True)
        return np.array([self.latency(cost, row) for cost, row in found])

    def loss(self, rows: Sequence[Measured], constants: Constants) -> float:
        """Return the mean squared logarithm of predicted / measured."""
        return loss(self.predict(rows, constants), np.array([row.cycles for row in rows]))


def _with(**parts: Mapping[str, Any]) -> Form:
    return Form(lambda _: parts)


def _reading(constants: Constants, **ports: float) -> Mapping[str, Mapping[str, Any]]:
    """Return a bus that loads at the fitted rate."""
    return {"DRAM": {"bw": None, "read_bw": constants.bits_per_cycle, **ports}}


MODEL = Form()
_FORMS = {
    "hierarchy": MODEL,
    "refill": _with(DRAM={"refill": 0.0}),
    "a quarter of refill: a half": _with(DRAM={"refill": 0.5}),
    "a quarter of refill: all": _with(DRAM={"refill": 1.0}),
    "launch cycles": _with(scratchpad={"launch_cycles": 0}),
    "bus": _with(DRAM={"bw": None, "cache": None}),
    "whole beats": _with(DRAM={"beat_bits": 0}),
    "gaps": _with(DRAM={"gaps": False}),
    "least cycles of steps, and loads": _with(registers={"step_cycles": 0, "load_cycles": 0}),
    "loads": _with(registers={"load_cycles": 0}),
    "warm array: cold": Form(latency=_cold),
    "loading all tiles": Form(lambda _: {"scratchpad": {"forgets": ()}}, given_order=True),
    "overlap: serial": Form(latency=_serial),
    "exposed ends": Form(latency=_max_of_totals),
    "misses": _with(DRAM={"cache": None}),
    "one port: two": Form(lambda each: _reading(each, write_bw=each.bits_per_cycle)),
    "stores": Form(_reading),
}


def fit(form: Form, rows: Sequence[Measured], caches: Sequence[float] = _CACHES) -> Constants:
    """Return the constants of least loss: real ones by Nelder and Mead, the others by trying."""
    tried = [_settle(form, rows, Constants(cache_mib=size)) for size in caches]
    return min(tried, key=lambda each: form.loss(rows, each))


def _settle(form: Form, rows: Sequence[Measured], constants: Constants) -> Constants:
    while True:
        found = _descend(form, rows, constants)
        steps = [replace(found, step_cycles=each) for each in _STEPS]
        best = min(steps, key=lambda each: form.loss(rows, each))
        if best.step_cycles == constants.step_cycles:
            return found
        constants = best


def _descend(form: Form, rows: Sequence[Measured], constants: Constants) -> Constants:
    def at(values: Mapping[str, Any]) -> Constants:
        return replace(constants, **values)

    start = {name: getattr(constants, name) for name in _REAL}
    return at(least(lambda values: form.loss(rows, at(values)), start))


def refit(rows: Sequence[Measured], training: Sequence[Measured]) -> None:
    """Print the constants fitted on training rows, and how well each form predicts the rows."""
    measured = np.array([row.cycles for row in rows])
    caches: Sequence[float] = _CACHES
    table = []
    with Bar("fitting", len(_FORMS)) as bar:
        for name, form in bar.each(_FORMS.items(), lambda each: each[0]):
            constants = fit(form, training, caches)
            caches = (constants.cache_mib,)  # The model's, for all forms.
            shown = (
                *(f"{form.loss(training, constants):.4f}", f"{constants.bits_per_cycle:.1f}"),
                *(f"{constants.miss_cycles:.2f}", f"{constants.launch_cycles:.0f}"),
                *(str(constants.step_cycles), f"{constants.cache_mib:g}"),
            )
            table.append((name, *shown, *agreement(measured, form.predict(rows, constants))))
    title = f"Fitted on {len(training)} training rows, the model and without each part"
    columns = ("loss", "bits/cycle", "miss", "launch", "step", "cache MiB", *AGREEMENT)
    below = np.count_nonzero(bound(training) > [row.cycles for row in training])
    note = f"{below} training rows took less than the largest of array and bytes / 16"
    Table(title, ("form",), columns, table, note).print()
