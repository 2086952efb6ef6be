"""Measured runs, what models predict for them, and how well the two agree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.base.checks import plain_integer, plain_number
from maestro_env.base.errors import quoted
from maestro_env.experiments.shell.files import RecordError
from maestro_env.experiments.shown.statistics import log_mean
from maestro_env.experiments.shown.tables import Table
from maestro_env.hierarchy.evaluation import HierarchyCost, HierarchyEvaluator, NestMapping
from maestro_env.hierarchy.shape import Shape

Floats = NDArray[np.float64]

AGREEMENT = ("Spearman", "MAPE %", "mean ratio", "<= 10 %", "<= 25 %", "ratios", "above measured")
"""Columns of ``agreement``."""

_WORST = 8


@dataclass(frozen=True)
class Run:
    """A layer that was run on a machine.

    Args:
        name: of the row.
        network: that the layer is of.
        shape: of the layer.
        mapping: its loops.
        cycles: that it took.
    """

    name: str
    network: str
    shape: Shape
    mapping: NestMapping
    cycles: float


class Cells:
    """The cells of a row of a table, read by the names of its columns."""

    def __init__(self, row: Mapping[str, str | None], where: str) -> None:
        self._row, self._where = row, where

    def text(self, name: str) -> str:
        """Return a text that is not empty."""
        return str(self._read(name, str, "a text"))

    def integer(self, name: str) -> int:
        """Return an integer above 0."""
        return int(self._read(name, plain_integer, "integers above 0"))

    def count(self, name: str) -> int:
        """Return an integer from 0."""
        return 0 if self._row.get(name) == "0" else self.integer(name)

    def number(self, name: str) -> float:
        """Return a number above 0."""
        return float(self._read(name, plain_number, "numbers above 0"))

    def _read(self, name: str, read: Callable[[str], Any], allowed: str) -> Any:
        given = self._row.get(name)
        if not (value := read(given or "")):
            raise RecordError(f"{self._where}: {name} is {quoted(given)}; allowed: {allowed}")
        return value


# --- Predictions --------------------------------------------------------------------------------


def with_parts(hierarchy: Hierarchy, **parts: Mapping[str, Any]) -> Hierarchy:
    """Return an accelerator with other properties of some elements, by their names."""
    elements = [replace(each, **parts.get(each.name, {})) for each in hierarchy.elements]
    return replace(hierarchy, elements=elements)


def cost_of(run: Run, hierarchy: Hierarchy) -> HierarchyCost:
    """Return what a run costs on a machine.

    Raises:
        RecordError: it is no run of that machine.
    """
    cost, status = HierarchyEvaluator(run.shape, hierarchy).evaluate(run.mapping)
    if cost is None or status != "ok":
        raise RecordError(f"row {run.name} is {status} on {hierarchy.name}; give rows of it")
    return cost


def busiest(cost: HierarchyCost, bytes_per_cycle: float) -> float:
    """Return cycles that nothing can be below: of the array, or of the bus of 8-bit words."""
    off_chip = (each for each in cost.traffic if each.parent == "DRAM")
    moved = sum(each.parent_reads + each.parent_writes for each in off_chip)
    return max(cost.compute_cycles, moved / bytes_per_cycle)


# --- Tables -------------------------------------------------------------------------------------


def agreement(measured: Floats, predicted: Floats) -> tuple[str, ...]:
    """Return how well predictions agree: a ratio is measured / predicted."""
    error, ratio = np.abs(predicted / measured - 1), measured / predicted
    return (
        _rank_correlation(measured, predicted),
        *(f"{100 * error.mean():.1f}", f"{log_mean(ratio):.2f}"),
        *(f"{100 * np.mean(error <= limit):.0f}" for limit in (0.1, 0.25)),
        f"{ratio.min():.2f}-{ratio.max():.2f}",
        str(np.count_nonzero(predicted > measured)),
    )


def _rank_correlation(measured: Floats, predicted: Floats) -> str:
    """Return Spearman's; nothing has a rank where all are equal."""
    from scipy.stats import spearmanr

    if np.ptp(measured) == 0 or np.ptp(predicted) == 0:
        return "-"
    return f"{spearmanr(measured, predicted)[0]:.4f}"


def print_models(
    title: str, measured: Floats, models: Mapping[str, Floats], note: str = ""
) -> None:
    """Print how well each model agrees."""
    rows = [(name, *agreement(measured, each)) for name, each in models.items()]
    Table(title, ("model",), AGREEMENT, rows, note).print()


def print_groups(
    title: str, groups: Sequence[str], measured: Floats, models: Mapping[str, Floats]
) -> None:
    """Print the error of each model by group, and the ratio of the group's sums."""
    rows = []
    for group in dict.fromkeys(groups):
        of_group = np.array([each == group for each in groups])
        cells = [str(np.count_nonzero(of_group))]
        for predicted in models.values():
            error = np.abs(predicted[of_group] / measured[of_group] - 1).mean()
            whole = measured[of_group].sum() / predicted[of_group].sum()
            cells += [f"{100 * error:.1f}", f"{whole:.2f}"]
        rows.append((group, *cells))
    columns = ("rows", *(each for name in models for each in (f"{name}, MAPE %", "sum's ratio")))
    Table(title, ("",), columns, rows).print()


def print_worst(title: str, names: Sequence[str], measured: Floats, predicted: Floats) -> None:
    """Print the runs that a model is furthest off."""
    worst = np.argsort(-np.abs(np.log(measured / predicted)), kind="stable")[:_WORST]
    rows = ((names[n], f"{measured[n]:.0f}", f"{measured[n] / predicted[n]:.2f}") for n in worst)
    Table(title, ("run",), ("cycles", "ratio"), rows).print()


def print_left_out(left: Iterable[tuple[str, str]]) -> None:
    """Print the rows that are not scored, each with the reason."""
    Table("Rows that are not scored", ("row", "why"), (), sorted(left)).print()
