"""Tables of text, for the terminal and for Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from experiments.tables import new_table
from experiments.texts import printable, shown


@dataclass(frozen=True)
class Sheet:
    """A table of text.

    Args:
        title: above it.
        note: below it; may be empty.
        left: header of the first column, which holds names.
        right: headers of the others, which hold numbers.
        rows: of all columns.
    """

    title: str
    note: str
    left: str
    right: Sequence[str]
    rows: Sequence[Sequence[str]]

    def table(self) -> Table:
        """Return it for the terminal."""
        table = new_table(self.title, (self.left,), self.right)
        table.caption, table.caption_justify = Text(self.note) if self.note else None, "left"
        for row in self.rows:
            table.add_row(*row)
        return table

    def markdown(self, level: int = 2) -> str:
        """Return it as a section of a Markdown file, its heading of the given level."""
        rules = ["---", *("---:" for _ in self.right)]
        lines = [(self.left, *self.right), rules, *self.rows]
        table = "\n".join(f"| {' | '.join(map(_escaped, line))} |" for line in lines)
        parts = (f"{'#' * level} {shown(self.title)}", table, self.note)
        return "\n\n".join(part for part in parts if part) + "\n"


def _escaped(cell: str) -> str:
    return printable(cell).replace("|", r"\|")


def significant(value: float, digits: int = 4) -> str:
    """Return a positive number with as many significant digits, or a dash if it is infinite."""
    if value == float("inf"):
        return "-"
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    decimals = digits - 1 - int(exponent)
    if not 0 <= decimals <= digits + 2:
        return f"{value:,.0f}" if -3 <= decimals < 0 else f"{mantissa}e{int(exponent)}"
    return f"{value:.{decimals}f}"


def bracketed(figure: str, interval: tuple[float, float] | None, digits: int = 4) -> str:
    """Return a figure with its interval behind it, if it has one."""
    if interval is None:
        return figure
    low, high = (significant(end, digits) for end in interval)
    return f"{figure} [{low}, {high}]"
