"""Tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from experiments.config import Task
from maestro_env.layer import Layer

# Rows are for people and for grep: a pipe has no width to fold them to.
_PIPE_COLUMNS = 300

_LEDGER = ("evaluations", "invalid", "unique", "warm_up")


def print_table(table: Table) -> None:
    """Print to stdout."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _PIPE_COLUMNS
    console.print(table)


def new_table(title: str, left: Iterable[str], right: Iterable[str]) -> Table:
    """Make a table without rows.

    Args:
        title: above it.
        left: headers of the first columns, which hold text.
        right: headers of the others, which hold numbers.
    """
    table = Table(title=Text(title), title_justify="left", box=box.SIMPLE_HEAD)
    for header in left:
        table.add_column(header, no_wrap=True)
    for header in right:
        table.add_column(header, justify="right")
    return table


def layers_table(layers: Iterable[Layer]) -> Table:
    """Show layers, one a row."""
    table = new_table("Layers", ("name", "operator", "dimensions"), ("MACs", "count"))
    for layer in layers:
        table.add_row(
            layer.name, layer.operator, layer.dimensions, f"{layer.macs:,}", str(layer.count)
        )
    return table


def summary_table(task: Task, summary: dict[str, Any]) -> Table:
    """Show a run's summary, one row per mapper."""
    layer, hardware = task.problem.layer, task.problem.hardware
    several = f", IQM of {len(task.seeds)} seeds" if len(task.seeds) > 1 else ""
    interrupted = ", interrupted" if summary["interrupted"] else ""
    table = new_table(
        f"{layer} ({layer.operator} {layer.dimensions}) on {hardware.name}: "
        f"{task.config.samples:,} samples{several}{interrupted}",
        ("mapper",),
        (
            f"best {summary['objective']} ({summary['unit']}){several}",
            "times the lower bound",
            "samples to best",
            "samples",
            "invalid",
            "unique",
            "warm-up",
            "seconds",
            "in the model",
        ),
    )
    for mapper, figures in summary["mappers"].items():
        found = len(figures["seeds"])
        lacking = "" if found == len(task.seeds) else f" ({found} of {len(task.seeds)} seeds)"
        table.add_row(
            mapper + lacking,
            _number(figures["best"], "{:.6g}", _why_no_best(figures["seeds"])),
            _number(figures["times_lower_bound"], "{:.4g}"),
            _number(figures["samples_to_best"], "{:,.0f}"),
            *(_number(figures[name], "{:,.0f}") for name in _LEDGER),
            *(_number(figures[name], "{:.2f}") for name in ("seconds", "model_seconds")),
        )
    return table


def _why_no_best(seeds: list[dict[str, Any]]) -> str:
    found = sum(seed["best"] is not None for seed in seeds)
    return f"valid in {found} of {len(seeds)} seeds" if found else "no valid mapping"


def _number(value: float | None, form: str, missing: str = "-") -> str:
    return missing if value is None else form.format(value)
