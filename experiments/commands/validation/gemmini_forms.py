"""Constants of Gemmini's description, fitted on training rows; and without parts of the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maestro_env.accelerators.elements import Cache
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.experiments.commands.validation.agreement import (
    AGREEMENT,
    REFILL,
    Floats,
    agreement,
    least,
    loss,
    with_parts,
)
from maestro_env.experiments.commands.validation.gemmini import (
    ARRAY,
    Measured,
    bound,
    costs,
    unfitted,
)
from maestro_env.experiments.shown.progress import Bar
from maestro_env.experiments.shown.tables import Table
from maestro_env.hierarchy.evaluation import HierarchyCost

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
