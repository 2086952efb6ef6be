"""Measured runs, what models predict of them, how well both agree, and constants that fit best."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.base.checks import plain_integer, plain_number
from maestro_env.base.errors import quoted
from maestro_env.experiments.shell.files import RecordError
from maestro_env.experiments.shown.statistics import log_mean
from maestro_env.experiments.shown.tables import Table
from maestro_env.explanation.hierarchy import nest_status
from maestro_env.hierarchy.evaluation import HierarchyCost, HierarchyEvaluator, NestMapping
from maestro_env.hierarchy.shape import Shape

Floats = NDArray[np.float64]

AGREEMENT = ("Spearman", "MAPE %", "mean ratio", "<= 10 %", "<= 25 %", "ratios", "above measured")
"""Columns of ``agreement``."""

REFILL = 0.25
"""Share of the first fill at further tiles of outputs, of all machines; docs/validation.md."""

_WORST = 24
_MOST = 2**16


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
        return self._given(name) or self._fail(name, "a text that is not empty")

    def choice(self, name: str, allowed: Collection[str]) -> str:
        """Return one of some texts."""
        given = self._given(name)
        return given if given in allowed else self._fail(name, ", ".join(allowed))

    def integer(self, name: str, least: int = 1) -> int:
        """Return an integer from 1 or 0 to 65,536."""
        found = plain_integer(self._given(name))
        if found is None or not least <= found <= _MOST:
            self._fail(name, f"integers from {least} to {_MOST}")
        return found

    def number(self, name: str) -> float:
        """Return a number above 0."""
        found = plain_number(self._given(name))
        return found or self._fail(name, "numbers above 0")

    def _given(self, name: str) -> str:
        if (given := self._row.get(name)) is None:
            raise RecordError(
                f"{self._where}: has no column {name}; docs/validation.md names the file"
            )
        return given

    def _fail(self, name: str, allowed: str) -> NoReturn:
        given = quoted(self._row[name])
        raise RecordError(f"{self._where}: {name} is {given}; allowed: {allowed}")


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
    evaluator = HierarchyEvaluator(run.shape, hierarchy)
    cost, status = evaluator.evaluate(run.mapping)
    if cost is None or status != "ok":
        why = nest_status(evaluator, run.mapping)
        raise RecordError(f"row {run.name} cannot run on {hierarchy.name}: {why}")
    return cost


def latencies(runs: Sequence[Run], hierarchy: Hierarchy) -> Floats:
    """Return cycles, float64[N]."""
    return np.array([cost_of(each, hierarchy).latency_cycles for each in runs])


def busiest(cost: HierarchyCost, bytes_per_cycle: float, two_ways: bool = False) -> float:
    """Return cycles that nothing can be below: of the array, or of the bus of 8-bit words.

    Args:
        cost: of a run.
        bytes_per_cycle: of the bus.
        two_ways: whether reads and writes have as many each.
    """
    off_chip = [each for each in cost.traffic if each.parent == "DRAM"]
    ways = sum(each.parent_reads for each in off_chip), sum(each.parent_writes for each in off_chip)
    return max(cost.compute_cycles, (max(ways) if two_ways else sum(ways)) / bytes_per_cycle)


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
    note = "sum's ratio: all measured cycles of the group / all predicted ones"
    Table(title, ("",), columns, rows, note).print()


def print_worst(title: str, names: Sequence[str], measured: Floats, predicted: Floats) -> None:
    """Print the runs that a model is furthest off."""
    worst = np.argsort(-np.abs(np.log(measured / predicted)), kind="stable")[:_WORST]
    rows = ((names[n], f"{measured[n]:.0f}", f"{measured[n] / predicted[n]:.2f}") for n in worst)
    Table(title, ("run",), ("cycles", "ratio"), rows).print()


def print_left_out(left: Iterable[tuple[str, str]]) -> None:
    """Print the rows that are not scored, each with the reason."""
    if rows := sorted(left):
        Table("Rows that are not scored", ("row", "why"), (), rows).print()


def loss(predicted: Floats, measured: Floats) -> float:
    """Return the mean squared logarithm of predicted / measured."""
    return float(np.mean(np.log(predicted / measured) ** 2))


def least(
    loss_of: Callable[[Mapping[str, float]], float], start: Mapping[str, float]
) -> dict[str, float]:
    """Return the constants of least loss, by Nelder and Mead on their logarithms.

    Args:
        loss_of: takes the constants by name.
        start: constants above 0 to begin from.
    """
    from scipy.optimize import minimize

    def at(logarithms: Floats) -> dict[str, float]:
        values = np.exp(np.clip(logarithms, -20, 20)).tolist()
        return dict(zip(start, values, strict=True))

    begin = np.log(list(start.values()))
    options = {"xatol": 1e-3}
    best = minimize(lambda x: loss_of(at(x)), begin, method="Nelder-Mead", options=options)
    return at(best.x)
