"""Errors that users can cause: each message names the value, the allowed values and the fix.

This module imports the standard library alone, so that the drop-in starts quickly.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

_LONGEST_VALUE = 40
_LONGEST_MESSAGE = 4000


def printable(text: str) -> str:
    """Return a text on one line: what a terminal would obey or cannot show is escaped."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def quoted(value: object) -> str:
    """Return a value as a message shows it, cut at 40 characters."""
    if isinstance(value, str):
        return repr(_cut(value, _LONGEST_VALUE))
    try:
        return _cut(repr(value), _LONGEST_VALUE)
    except ValueError:  # Python refuses to write long integers.
        return f"too long a {type(value).__name__}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


def complain(message: str) -> None:
    """Write one line of the drop-in to stderr, if that is open."""
    try:
        if sys.stderr is not None:
            sys.stderr.write(f"maestro-compat: {_cut(printable(message), _LONGEST_MESSAGE)}\n")
    except OSError:
        # Python would try again at its end, and change the exit status.
        sys.stderr = None


def close_matches(name: str, names: Iterable[str], alike: float = 0.6) -> str:
    """Return a hint at names that are alike enough, of 1, empty if there are none."""
    from difflib import get_close_matches

    plain = {each.lower(): each for each in names}
    near = get_close_matches(name[:_LONGEST_VALUE].lower(), plain, n=3, cutoff=alike)
    return f"did you mean {' or '.join(plain[each] for each in near)}? " if near else ""


class MaestroEnvError(Exception):
    """Root of this package's errors; a message is one line that any terminal can show."""

    def __init__(self, message: str) -> None:
        super().__init__(_cut(printable(message), _LONGEST_MESSAGE))


Refuse = Callable[[str], MaestroEnvError]
"""Makes the error of who reads a file from its message."""


class ArgumentTypeError(MaestroEnvError, TypeError):
    """An argument of a wrong type."""


class LayerError(MaestroEnvError, ValueError):
    """A layer that does not exist or cannot be computed."""


class NetworkError(MaestroEnvError, ValueError):
    """A network that cannot be read, or of which no operator can be mapped."""


class HardwareError(MaestroEnvError, ValueError):
    """An accelerator that cannot exist, or a hardware file that cannot be read."""


class MappingError(MaestroEnvError, ValueError):
    """A mapping that cannot be read."""


class ModelError(MaestroEnvError, ValueError):
    """A cost model that this build does not have."""


class MapSpaceError(MaestroEnvError, ValueError):
    """A map space that does not exist, or a vector or mapping outside of it."""


class EnvError(MaestroEnvError, ValueError):
    """An environment with an impossible episode, number of copies or reference."""


class MissingExtraError(MaestroEnvError, ImportError):
    """A package is missing that an optional extra of the project installs."""

    def __init__(self, user: str, package: str, extra: str) -> None:
        super().__init__(f"{user} needs {package}: {recipe(extra)}")
        self.extra = extra


def recipe(extra: str) -> str:
    """Return the command that installs an extra, in a clone or beside what is installed."""
    if (Path(__file__).parents[2] / "setup.py").exists():
        return f"pip install -e '.[{extra}]' in a clone"
    return f"pip install 'maestro-env[{extra}]'"


class UnknownNameError(MaestroEnvError, ValueError):
    """A name no registry knows."""

    def __init__(self, what: str, name: object, allowed: Iterable[str]) -> None:
        text, names = str(name), sorted(allowed)
        hint = close_matches(text, names)
        super().__init__(f"unknown {what} {quoted(text)}: {hint}allowed: {', '.join(names)}")


class TooLongError(MaestroEnvError, ValueError):
    """A file or line longer than the limit."""


class BudgetError(MaestroEnvError, ValueError):
    """A budget that is not a number of evaluations."""


class BudgetExceededError(MaestroEnvError, RuntimeError):
    """More evaluations were asked for than the budget holds."""
