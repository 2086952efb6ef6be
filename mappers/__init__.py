"""Search algorithms by name: add one with a file and a line of ``MAPPERS``."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from maestro_env.errors import UnknownNameError
from mappers.base import Mapper

MAPPERS: Mapping[str, str] = MappingProxyType(
    {
        "random": "mappers.random:RandomMapper",
        "ga": "mappers.ga:GeneticMapper",
    }
)
"""Name to ``module:class``; a module is imported when its mapper is made."""


def make_mapper(name: str) -> Mapper:
    """Make the mapper called ``name`` with its default configuration.

    Raises:
        UnknownNameError: there is none.
    """
    if name not in MAPPERS:
        raise UnknownNameError("mapper", name, [*MAPPERS, "all"])
    module, _, class_name = MAPPERS[name].partition(":")
    mapper: Mapper = getattr(import_module(module), class_name)()
    return mapper
