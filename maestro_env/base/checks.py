"""Small checks of what users pass in, and registries of entries that they name."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeVar

from maestro_env.base.errors import (
    ArgumentTypeError,
    MaestroEnvError,
    Refuse,
    UnknownNameError,
    close_matches,
    quoted,
)

MAX_INT = 2**31 - 1
MAX_NAME = 200

_Kind = TypeVar("_Kind")

_PLAIN_INTEGER = re.compile(r"[0-9]{1,18}")
_PLAIN_NUMBER = re.compile(r"[0-9]{1,18}(\.[0-9]{1,25})?(e[+-]?[0-9]{1,2})?")


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

    Otherwise raise ``error``, or an ``ArgumentTypeError`` if it is no integer; the message names
    the value and what is allowed.
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or not least <= number <= most:
        kind = ArgumentTypeError if number is None else error
        raise kind(f"{what} is {quoted(value)}; allowed: integers from {least} to {most}")
    return number


def require_number(
    what: str, value: object, error: type[Exception], most: float, positive: bool = False
) -> float:
    """Return a number from 0, or above 0, to ``most``; otherwise raise as ``require_integer``."""
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else None
    if number is None or not 0 <= number <= most or (positive and number == 0):
        kind = ArgumentTypeError if number is None else error
        least = "above 0 up" if positive else "from 0"
        raise kind(f"{what} is {quoted(value)}; allowed: numbers {least} to {most:g}")
    return float(number)


def require_type(what: str, value: object, kind: type, hint: str) -> None:
    """Raise an ``ArgumentTypeError`` that ends with the hint, unless ``value`` is of the type."""
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIOUi" else "a"
        raise ArgumentTypeError(
            f"{what} is {quoted(value)}; allowed: {article} {kind.__name__}, {hint}"
        )


def tuple_of(what: str, values: object, kind: type[_Kind], hint: str) -> tuple[_Kind, ...]:
    """Return values of a type as a tuple, or raise an ``ArgumentTypeError``; a text is none."""
    found = tuple(values) if isinstance(values, Iterable) and not isinstance(values, str) else None
    if found is None or not all(isinstance(each, kind) for each in found):
        raise ArgumentTypeError(
            f"{what} are {quoted(values)}; allowed: a tuple of {kind.__name__}, {hint}"
        )
    return found


def require_name(what: str, value: object, error: type[Exception], hint: str) -> None:
    """Raise an error unless ``value`` is a text of at most ``MAX_NAME`` characters."""
    require_type(what, value, str, hint)
    if len(str(value)) > MAX_NAME:
        raise error(f"{what} is {quoted(value)}; allowed: at most {MAX_NAME} characters, {hint}")


Written = tuple[str, str, str]
"""Where it stands, key and text of a value."""

Reader = tuple[Callable[[str], Any], str]
"""What reads a text, or returns None, and what is allowed."""

TEXT: Reader = (str, "texts")
INTEGER: Reader = (plain_integer, "integers, of at most 18 digits 0 to 9")
NUMBER: Reader = (plain_number, "numbers")


def read_entries(
    entries: Iterable[Written], readers: Mapping[str, Reader], refuse: Refuse
) -> dict[str, Any]:
    """Return the values of entries by key; each key is known, and is given once."""
    values: dict[str, Any] = {}
    for where, key, text in entries:
        if key not in readers:
            hint = close_matches(key, readers)
            raise refuse(f"{where}: unknown key {quoted(key)}; {hint}allowed: {', '.join(readers)}")
        if key in values:
            raise refuse(f"{where}: {key} is given twice")
        read, allowed = readers[key]
        try:
            values[key] = read(text)
        except MaestroEnvError as error:
            raise refuse(f"{where}: {error}") from None
        if values[key] is None:
            raise refuse(f"{where}: {key} is {quoted(text)}; allowed: {allowed}")
    return values


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_Entry = TypeVar("_Entry")
_NamedEntry = TypeVar("_NamedEntry", bound=_Named)


def by_name(*entries: _NamedEntry) -> Mapping[str, _NamedEntry]:
    """Return a registry of entries that have a ``name``."""
    return {entry.name: entry for entry in entries}


def look_up(what: str, name: str, registry: Mapping[str, _Entry]) -> _Entry:
    """Return the entry of this name, or raise an error that lists the names."""
    require_type(what, name, str, f"one of {', '.join(registry)}")
    if name not in registry:
        raise UnknownNameError(what, name, registry)
    return registry[name]
