"""Errors that users can cause; messages name the value, the allowed values and the fix."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class ClusteringError(ValueError):
    """Root of this package's errors."""


class SamplesError(ClusteringError):
    """Samples that are inconsistent or too poor to learn a grouping from."""


class GroupingError(ClusteringError):
    """An argument of a grouping that is not allowed, or groups that are not of the parameters."""


def unknown(what: str, name: object, allowed: Iterable[str]) -> str:
    """Return the message about a name that is not an allowed one."""
    names = list(allowed)
    near = get_close_matches(str(name), names, n=3)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    return f"unknown {what} '{name}': {hint}allowed: {', '.join(names)}"
