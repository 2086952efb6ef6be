"""Small checks of what users pass in."""

from __future__ import annotations

import operator
import re

from maestro_env.errors import quoted

MAX_INT = 2**31 - 1
MAX_NAME = 200

_PLAIN_INTEGER = re.compile(r"[0-9]{1,18}")
_PLAIN_NUMBER = re.compile(r"[0-9]{1,18}(\.[0-9]{1,18})?(e[+-]?[0-9]{1,2})?")


def plain_integer(text: str) -> int | None:
    """Return a number written in ASCII digits alone, None for any other text."""
    return int(text) if _PLAIN_INTEGER.fullmatch(text) else None


def plain_number(text: str) -> float | None:
    """Return a decimal number in ASCII, None for any other text."""
    return float(text) if _PLAIN_NUMBER.fullmatch(text) else None


def require_integer(
    what: str, value: object, error: type[Exception], least: int = 1, most: int = MAX_INT
) -> int:
    """Return ``value`` as an int if it is one (numpy's too, bool not) within the limits.

    Otherwise raise ``error``; its message names the value and what is allowed.
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or not least <= number <= most:
        raise error(f"{what} is {quoted(value)}; allowed: integers from {least} to {most}")
    return number


def require_type(what: str, value: object, kind: type, error: type[Exception], hint: str) -> None:
    """Raise ``error``, whose message ends with the hint, unless ``value`` is of the type."""
    if not isinstance(value, kind):
        raise error(f"{what} is {quoted(value)}; allowed: a {kind.__name__}, {hint}")


def require_name(what: str, value: object, error: type[Exception], hint: str) -> None:
    """Raise ``error`` unless ``value`` is a text of at most ``MAX_NAME`` characters."""
    require_type(what, value, str, error, hint)
    if len(str(value)) > MAX_NAME:
        raise error(f"{what} is {quoted(value)}; allowed: at most {MAX_NAME} characters, {hint}")
