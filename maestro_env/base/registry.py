"""Registries: entries that users name, such as cost models and objectives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeVar

from maestro_env.base.checks import require_type
from maestro_env.base.errors import UnknownNameError


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
