"""What commands print: every line is one that a terminal shows, whatever is named in it."""

from __future__ import annotations

import sys

from maestro_env.base.errors import printable


def print_lines(*lines: str, flush: bool = False) -> None:
    """Print lines on stdout: what a terminal would obey is escaped, ends of lines too."""
    for line in lines:
        print(printable(line), flush=flush)  # noqa: T201


def print_errors(*lines: str) -> None:
    """Print lines on stderr, escaped alike."""
    for line in lines:
        print(printable(line), file=sys.stderr)  # noqa: T201
