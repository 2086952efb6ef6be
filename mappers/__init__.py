"""Search algorithms by name.

To add one here, write its file and add a line to ``MAPPERS``. Programs add theirs with
``register_mapper``, packages with an entry point (``maestro_env.mappers.plugins``), as those of
``papers`` do.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from maestro_env.base.checks import require_type
from maestro_env.base.errors import UnknownNameError, quoted
from maestro_env.mappers.base import Mapper, StartConfig, changed
from maestro_env.mappers.plugins import load, make, packaged, require_mapper, require_name

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

if __name__ != "maestro_env.mappers":
    raise ImportError("this folder is the package maestro_env.mappers: import that")

__all__ = [
    "MAPPERS",
    "PROVERS",
    "Mapper",
    "is_own",
    "make_mapper",
    "mapper_names",
    "may_end_early",
    "own_mappers",
    "register_mapper",
]

MAPPERS: Mapping[str, str] = {
    "random": "maestro_env.mappers.random:RandomMapper",
    "random_log": "maestro_env.mappers.random:LogRandomMapper",
    "random_moves": "maestro_env.mappers.moving:RandomMovesMapper",
    "hill_climbing": "maestro_env.mappers.moving:HillClimbingMapper",
    "annealing": "maestro_env.mappers.moving:AnnealingMapper",
    "bo": "maestro_env.mappers.bo:BayesianMapper",
    "ga": "maestro_env.mappers.ga:GeneticMapper",
    "ga_log": "maestro_env.mappers.ga:LogGeneticMapper",
    "gamma": "maestro_env.mappers.gamma:GammaMapper",
    "pbil": "maestro_env.mappers.pbil:PbilMapper",
    "library": "maestro_env.mappers.library:LibraryMapper",
    "marl": "maestro_env.mappers.marl:MarlMapper",
    "marl_clustered": "maestro_env.mappers.marl:ClusteredMarlMapper",
    "marl_mlp": "maestro_env.mappers.marl:NetworkMarlMapper",
    "marl_paper": "maestro_env.mappers.marl:PaperMarlMapper",
    "optimum": "maestro_env.mappers.optimum:OptimumMapper",
    "optuna": "maestro_env.mappers.optuna:OptunaMapper",
    "prior": "maestro_env.mappers.prior:PriorMapper",
    "prior_adapted": "maestro_env.mappers.prior_adapted:AdaptedPriorMapper",
    "ppo": "maestro_env.mappers.ppo:PpoMapper",
    "ppo_box": "maestro_env.mappers.ppo:BoxPpoMapper",
    "ppo_tuned": "maestro_env.mappers.ppo:TunedPpoMapper",
}
"""Name to ``module:class``. A module is imported when one of its mappers is made."""

_registered: dict[str, type[Mapper[Any]]] = {}

PROVERS = ("optimum",)
"""Mappers that may end before their budget does; ``all`` leaves them out."""


def may_end_early(text: str) -> bool:
    """Say whether a mapper, settings behind its name or not, is a prover."""
    return text.split(":")[0] in PROVERS


def own_mappers() -> list[str]:
    """Return the names of the mappers of this package, those of the papers at the end."""
    inside = [name for name, entry in _packaged().items() if _is_inside(entry.value)]
    return [*MAPPERS, *inside]


def is_own(text: str) -> bool:
    """Say whether a mapper, settings behind its name or not, is one of this package."""
    name = text.split(":")[0]
    if name in MAPPERS:
        return _is_inside(MAPPERS[name])
    return name in _packaged() and _is_inside(_packaged()[name].value)


def _is_inside(place: str) -> bool:
    return place.startswith(f"{__name__}.")


def register_mapper(name: str, mapper_class: type[Mapper[Any]]) -> None:
    """Add a mapper, for ``make_mapper`` and as long as this process runs.

    Commands with several jobs start processes of their own, which know the mappers of installed
    packages but not this one.

    Args:
        name: a letter, then at most 63 letters, digits, ``_``, ``.`` and ``-``.
        mapper_class: a subclass of ``Mapper``, whose ``DEFAULT`` has the settings.

    Raises:
        ArgumentTypeError: the name is no text.
        MapperError: a name that is taken or that flags cannot hold, or no class of mappers, or one
            that lacks a method or the settings.
    """
    require_type("mapper", name, str, "a name for it")
    what = f"mapper {quoted(name)}"
    require_name(what, name, dict.fromkeys([*mapper_names(), "all"], "another mapper"))
    _registered[name] = require_mapper(what, mapper_class)


def make_mapper(text: str) -> Mapper[Any]:
    """Make a mapper.

    Args:
        text: a name of ``MAPPERS`` or of a mapper from outside, optionally followed by changed
            settings, as in ``ga:population=50:elites=5``.

    Raises:
        ArgumentTypeError: no text.
        UnknownNameError: no such mapper or setting.
        SettingError: a value the setting does not allow.
        MapperError: a mapper from outside that cannot be used; it names the package.
    """
    require_type("mapper", text, str, "such as ga or ga:population=50")
    name, *changes = text.split(":")
    mapper_class = _find(name)
    config = changed(mapper_class.DEFAULT, changes)
    made = mapper_class(config) if is_own(name) else make(f"mapper {name}", mapper_class, config)
    if isinstance(config, StartConfig) and config.start == "prior":
        from maestro_env.mappers.prior import PriorOpening  # Others need not load a policy.

        made.opening = PriorOpening()
    return made


def _find(name: str) -> type[Mapper[Any]]:
    if name in MAPPERS:
        module, _, class_name = MAPPERS[name].partition(":")
        found: type[Mapper[Any]] = getattr(import_module(module), class_name)
        return found
    if name in _registered:
        return _registered[name]
    if entry := _packaged().get(name):
        return load(entry)
    raise UnknownNameError("mapper", name, [*mapper_names(), "all"])


def mapper_names() -> list[str]:
    """Return the names of all mappers, those from outside included."""
    return [*MAPPERS, *_registered, *_packaged()]


def _packaged() -> dict[str, EntryPoint]:
    return packaged(frozenset([*MAPPERS, "all"]))
