"""Names from files and flags, as terminals, tables and pictures can show them."""

from __future__ import annotations

_LONGEST = 200


def printable(text: str) -> str:
    """Return a text with escapes for what a terminal would obey, or no encoding can hold."""
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )


def shown(name: str) -> str:
    """Return a name as a table shows it: printable, and cut if it is very long."""
    cut = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 3]}..."
    return printable(cut)


def in_picture(name: str) -> str:
    """Return a name as a picture shows it: no part of it is mathematics."""
    return shown(name).replace("$", r"\$")
