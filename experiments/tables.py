"""Tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from experiments.texts import shown
from maestro_env.layer import Layer

# Rows are for people and for grep: a pipe has no width to fold them to.
_PIPE_COLUMNS = 300


class _TextTable(Table):
    """A table whose cells are text as it is: no markup, and nothing a terminal would obey."""

    def add_row(self, *cells: Any, **style: Any) -> None:
        super().add_row(*(Text(shown(str(cell))) for cell in cells), **style)


class _Console(Console):
    """Leaves it to the command what to do when its reader has gone."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def print_table(table: Table) -> None:
    """Print to stdout."""
    console = _Console(highlight=False)
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
    table = _TextTable(title=Text(shown(title)), title_justify="left", box=box.SIMPLE_HEAD)
    for header in left:
        table.add_column(_header(header), no_wrap=True)
    for header in right:
        table.add_column(_header(header), justify="right")
    return table


def layers_table(layers: Iterable[Layer]) -> Table:
    """Show layers, one a row."""
    table = new_table("Layers", ("name", "operator", "dimensions"), ("MACs", "count"))
    for layer in layers:
        table.add_row(
            layer.name, layer.operator, layer.dimensions, f"{layer.macs:,}", str(layer.count)
        )
    return table


def _header(text: str) -> Text:
    return Text("\n".join(map(shown, text.split("\n"))))
