"""Errors a user can cause; each message names the value, what is allowed and the way out."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class ClusteringError(ValueError):
    """Root of this package's errors."""


class SamplesError(ClusteringError):
    """Samples that contradict themselves or have nothing to learn a grouping from."""


class GroupingError(ClusteringError):
    """A number of agents, a threshold, a measure or a linkage that is not allowed."""


class GroupsError(ClusteringError):
    """Groups that leave out, repeat or make up a parameter, or a text that is no groups."""


def unknown(what: str, name: object, allowed: Iterable[str]) -> str:
    """Return the message on a name that is none of those allowed."""
    names = list(allowed)
    near = get_close_matches(str(name), names, n=3)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    return f"unknown {what} '{name}': {hint}allowed: {', '.join(names)}"
