"""A line of what MARL must reach."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """One line.

    Args:
        what: is measured.
        threshold: it must reach; empty if it need not.
        measured: what it is.
        holds: whether it reaches it; None without a threshold, or if missing cells decide.
        note: such as the cells that miss it.
    """

    what: str
    threshold: str
    measured: str
    holds: bool | None
    note: str = ""


def not_yet(whole: int, cells: int) -> str:
    """Say that missing cells decide."""
    return f"not decided yet ({whole} of {cells} cells)"


def cells_told(count: int) -> str:
    """Return a number of cells in words."""
    return f"{count} cell" if count == 1 else f"{count} cells"
