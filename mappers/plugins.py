"""Mappers from outside: those a program registers, and those of installed packages.

A package offers a mapper by an entry point of the group ``maestro_env.mappers``: the name is the
mapper's, the object its class. Entry points are read when a name is not one of ``MAPPERS``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from maestro_env.base.errors import MaestroEnvError, quoted
from maestro_env.mappers.base import Mapper, is_config

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "maestro_env.mappers"
"""The group of entry points."""

# What flags, tables and file names can hold.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")


class MapperError(MaestroEnvError, ValueError):
    """A mapper from outside that cannot be registered or loaded."""


def require_name(what: str, name: str, owners: Mapping[str, str]) -> None:
    """Raise a ``MapperError`` unless a mapper can be called ``name``; some names have owners."""
    if not _NAME.fullmatch(name):
        raise MapperError(
            f"{what}: a name is a letter and at most 63 letters, digits, '_', '.' and '-'"
        )
    if name in owners:
        raise MapperError(f"{what}: the name is that of {owners[name]}; give the mapper another")


def require_mapper(what: str, found: object) -> type[Mapper[Any]]:
    """Return ``found``, or raise a ``MapperError`` if it is no complete class of mappers."""
    if not (isinstance(found, type) and issubclass(found, Mapper)):
        raise MapperError(
            f"{what} is {quoted(found)}; allowed: a subclass of maestro_env.mappers.base.Mapper"
        )
    if lacking := sorted(found.__abstractmethods__):
        raise MapperError(f"{what} lacks {', '.join(lacking)}; define it in {found.__name__}")
    if not is_config(found.DEFAULT):
        raise MapperError(
            f"{what}: DEFAULT is {quoted(found.DEFAULT)}; allowed: an instance of a dataclass, "
            "whose fields mappers.settings.setting makes"
        )
    return found


def make(what: str, mapper_class: type[Mapper[Any]], config: Any) -> Mapper[Any]:
    """Return a mapper, or raise a ``MapperError`` if its class raises any error of its own."""
    try:
        return mapper_class(config)
    except MaestroEnvError:
        raise
    except Exception as error:
        raise MapperError(f"{what} cannot be made: {type(error).__name__}: {error}") from error


@cache
def packaged(taken: frozenset[str]) -> dict[str, EntryPoint]:
    """Return the entry points of installed packages by name.

    Raises:
        MapperError: a name that is taken, or that two packages give.
    """
    # Imported here: it takes longer than all else of this package.
    from importlib.metadata import entry_points

    found: dict[str, EntryPoint] = {}
    owners = dict.fromkeys(taken, "maestro-env")
    for entry in entry_points(group=GROUP):
        require_name(described(entry), entry.name, owners)
        found[entry.name] = entry
        owners[entry.name] = _package(entry)
    return found


def load(entry: EntryPoint) -> type[Mapper[Any]]:
    """Return the class of an entry point.

    Raises:
        MapperError: its package cannot be imported, or has something else in this place.
    """
    what = described(entry)
    try:
        found = entry.load()
    except MaestroEnvError:
        raise
    except (Exception, SystemExit) as error:
        raise MapperError(f"{what} cannot be loaded: {type(error).__name__}: {error}") from error
    return require_mapper(what, found)


def described(entry: EntryPoint) -> str:
    """Name a mapper and the package it is of."""
    return f"mapper {quoted(entry.name)} of {_package(entry)}"


def _package(entry: EntryPoint) -> str:
    return f"package {entry.dist.name} {entry.dist.version}" if entry.dist else "a package"
