"""Tables of text, for the terminal and for Markdown."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from maestro_env.base.errors import printable
from maestro_env.experiments.shown.statistics import Estimate

# Rows are for people and for grep: a pipe has no width to fold them to.
_PIPE_COLUMNS = 300
_LONGEST = 200


@dataclass(frozen=True)
class Keyed:
    """What a table shows, and the number or text that it is sorted by; None sorts last."""

    text: str
    key: float | str | None

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Table:
    """A table of text.

    Args:
        title: above it.
        left: headers of the first columns, which hold text.
        right: headers of the others, which hold numbers.
        rows: of all columns.
        note: below it; may be empty.
    """

    title: str
    left: Sequence[str]
    right: Sequence[str]
    rows: Iterable[Sequence[object]]
    note: str = ""

    def print(self) -> None:
        """Print it to stdout: text as it is, no markup, and nothing a terminal would obey."""
        from rich import box
        from rich.console import Console
        from rich.table import Table as RichTable
        from rich.text import Text

        title = Text(printable_name(self.title)) if self.title else None
        layout: dict[str, Any] = {"box": box.SIMPLE_HEAD, "show_edge": False, "pad_edge": False}
        rich = RichTable(title=title, title_justify="left", padding=(0, 1, 0, 0), **layout)
        note = "\n".join(map(printable, self.note.split("\n")))
        rich.caption, rich.caption_justify = Text(note) if note else None, "left"
        for header in self.left:
            rich.add_column(Text(_header(header)), no_wrap=True)
        for header in self.right:
            rich.add_column(Text(_header(header)), justify="right")
        for row in self.rows:
            rich.add_row(*(Text(printable_name(str(cell))) for cell in row))
        console = Console(highlight=False)
        # The command says what to do when its reader has gone.
        console.on_broken_pipe = _raise  # type: ignore[method-assign]
        if not console.is_terminal:
            console.width = _PIPE_COLUMNS
        console.print(rich)

    def markdown(self) -> str:
        """Return it as a section of a Markdown file."""
        rules = [*("---" for _ in self.left), *("---:" for _ in self.right)]
        headers = [header.replace("\n", " ") for header in (*self.left, *self.right)]
        lines = [headers, rules, *self.rows]
        table = "\n".join(f"| {' | '.join(map(_escaped, line))} |" for line in lines)
        parts = (f"## {in_markdown(self.title)}", table, _without_tags(self.note))
        return "\n\n".join(part for part in parts if part) + "\n"


def _raise() -> NoReturn:
    raise BrokenPipeError


def _header(text: str) -> str:
    return "\n".join(map(printable_name, text.split("\n")))


def _escaped(cell: object) -> str:
    return _without_tags(printable(str(cell))).replace("|", r"\|")


def _without_tags(text: str) -> str:
    """Return text in which a name is no HTML, which Markdown passes on, no link and no image."""
    return re.sub(r"\](?=[(\[:])", "&#93;", re.sub(r"<(?=[A-Za-z/!?])", "&lt;", text))


def printable_name(name: str) -> str:
    """Return a name as a table shows it: printable, and cut if it is very long."""
    return printable(name if len(name) <= _LONGEST else f"{name[: _LONGEST - 3]}...")


def in_markdown(name: str) -> str:
    """Return a name as a line of Markdown shows it, outside of code and tables."""
    return _without_tags(printable_name(name))


def named(text: str) -> Keyed:
    """Return a name, which sorts by its letters."""
    return Keyed(printable(text), printable(text))


def figure(value: float | None, text: str = "") -> Keyed:
    """Return a number with five significant digits, or as a text says; a dash for None."""
    return Keyed("-", None) if value is None else Keyed(text or significant(value, 5), value)


def at_most(share: float) -> str:
    """Return a share in per cent that is not rounded down, as nothing less is proven."""
    return f"{math.ceil(share * 1e4 - 1e-6) / 1e4:.2%}"


def shown_gap(gap: float | None) -> Keyed:
    """Return how far a value is above its bound: a share, or that it is proven."""
    if gap is None:
        return Keyed("-", None)
    return Keyed("proven" if gap == 0 else at_most(gap), gap)


def with_interval(found: Estimate, text: Callable[[float], str]) -> str:
    """Return a figure and, if it has one, its interval; ``text`` shows a number."""
    figure, low, high = map(text, map(float, found))
    return figure if math.isnan(found.low) else f"{figure} ({low} to {high})"


def significant(value: float, digits: int = 4) -> str:
    """Return a positive number with so many significant digits; a dash if it is not finite."""
    if not math.isfinite(value):
        return "-"
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    decimals = digits - 1 - int(exponent)
    if not 0 <= decimals <= digits + 2:
        return f"{value:,.0f}" if -3 <= decimals < 0 else f"{mantissa}e{int(exponent)}"
    return f"{value:,.{decimals}f}"
