"""Search algorithms by name. To add one, write its file and add a line to ``MAPPERS``."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from maestro_env.errors import UnknownNameError
from mappers.base import Mapper
from mappers.settings import changed

MAPPERS: Mapping[str, str] = {
    "random": "mappers.random:RandomMapper",
    "random_log": "mappers.random:LogRandomMapper",
    "bo": "mappers.bo:BayesianMapper",
    "ga": "mappers.ga:GeneticMapper",
    "ga_log": "mappers.ga:LogGeneticMapper",
    "gamma": "mappers.gamma:GammaMapper",
    "pbil": "mappers.pbil:PbilMapper",
    "marl": "mappers.marl:MarlMapper",
    "marl_clustered": "mappers.marl:ClusteredMarlMapper",
    "marl_mlp": "mappers.marl:NetworkMarlMapper",
    "marl_paper": "mappers.marl:PaperMarlMapper",
    "optimum": "mappers.optimum:OptimumMapper",
    "ppo": "mappers.ppo:PpoMapper",
    "ppo_box": "mappers.ppo:BoxPpoMapper",
    "ppo_tuned": "mappers.ppo:TunedPpoMapper",
}
"""Name to ``module:class``. A module is imported when one of its mappers is made."""

PROVERS = ("optimum",)
"""Mappers that may end before their budget does; ``all`` leaves them out."""


def may_end_early(text: str) -> bool:
    """Say whether a mapper, settings behind its name or not, is a prover."""
    return text.split(":")[0] in PROVERS


def make_mapper(text: str) -> Mapper[Any]:
    """Make a mapper.

    Args:
        text: a name of ``MAPPERS``, optionally followed by changed settings, as in
            ``ga:population=50:elites=5``.

    Raises:
        UnknownNameError: no such mapper or setting.
        SettingError: a value the setting does not allow.
    """
    name, *changes = text.split(":")
    if name not in MAPPERS:
        raise UnknownNameError("mapper", name, [*MAPPERS, "all"])
    module, _, class_name = MAPPERS[name].partition(":")
    mapper_class: type[Mapper[Any]] = getattr(import_module(module), class_name)
    return mapper_class(changed(mapper_class.DEFAULT, changes))
