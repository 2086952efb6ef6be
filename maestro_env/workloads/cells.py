"""Numbers and pieces of text as users write them."""

from __future__ import annotations

from maestro_env.checks import plain_integer
from maestro_env.errors import LayerError

_SHOWN = 40


def quoted(text: str) -> str:
    """Quote a text for a message, cut at 40 characters."""
    return repr(text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}...")


def integer(text: str) -> int:
    """Read a number.

    Raises:
        LayerError: the text is anything but digits 0 to 9.
    """
    number = plain_integer(text)
    if number is None:
        raise LayerError(f"{quoted(text)} is not an integer of at most 18 digits 0 to 9")
    return number
