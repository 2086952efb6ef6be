"""Settings of mappers: what is allowed, and what is said of what is not."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from mapper_helpers import SPENDERS

from maestro_env.base.errors import MaestroEnvError
from maestro_env.mappers import PROVERS, make_mapper
from maestro_env.mappers.base import changed, check, setting
from maestro_env.mappers.ga import GeneticConfig, GeneticMapper


@dataclass(frozen=True)
class Config:
    count: int = setting(5, "things", least=1, most=9)
    share: float = setting(0.5, "of them", most=1)
    kind: str = setting("old", "which", allowed=("old", "new"))


def test_texts_change_a_config() -> None:
    assert changed(Config(), []) == Config()
    assert changed(Config(), ["count=7", "share=1", "kind=new"]) == Config(7, 1, "new")
    assert changed(Config(), ["share=2.5e-1"]) == Config(share=0.25)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["cuont=7"], "unknown setting 'cuont': did you mean count"),
        (["count"], "setting 'count': allowed: count=VALUE"),
        (["count="], "count is ''; allowed: integers from 1 to 9"),
        (["count=0"], "count is 0; allowed: integers from 1 to 9"),
        (["count=10"], "count is 10; allowed: integers from 1 to 9"),
        (["count=2.5"], "count is '2.5'; allowed: integers from 1 to 9"),
        (["share=-1"], "share is '-1'; allowed: numbers from 0 to 1"),
        (["share=1.01"], "share is 1.01; allowed: numbers from 0 to 1"),
        (["share=nan"], "share is 'nan'; allowed: numbers from 0 to 1"),
        (["kind=odd"], "unknown kind 'odd': .*allowed: new, old"),
        (["count=3", "count=4"], "setting 'count=4': allowed: count=VALUE, once"),
    ],
)
def test_what_is_not_allowed_is_refused(changes: list[str], message: str) -> None:
    with pytest.raises(MaestroEnvError, match=message):
        changed(Config(), changes)


@pytest.mark.parametrize(
    "config",
    [
        Config(count=True),
        Config(count=3.0),
        Config(count=0),
        Config(share="0.5"),
        Config(share=float("nan")),
        Config(kind=None),
    ],
)
def test_objects_are_checked_too(config: Config) -> None:
    with pytest.raises(MaestroEnvError, match="allowed: "):
        check(config)


def test_a_mapper_is_made_with_changed_settings() -> None:
    mapper = make_mapper("ga:population=50:elites=5")
    assert isinstance(mapper, GeneticMapper)
    assert mapper.config == GeneticConfig(population=50, elites=5)
    assert make_mapper("ga_log:elites=7").config == replace(make_mapper("ga_log").config, elites=7)


def test_a_mapper_refuses_a_config_that_is_not_allowed() -> None:
    with pytest.raises(MaestroEnvError, match="population is 0; allowed: integers from 2"):
        GeneticMapper(GeneticConfig(population=0))


@pytest.mark.parametrize("name", [*SPENDERS, *PROVERS])
def test_the_settings_of_every_mapper_say_what_they_are(name: str) -> None:
    config = make_mapper(name).config
    check(config)
    for field in config.__dataclass_fields__.values():
        assert field.metadata["text"]
        assert type(field.default) in (int, float, str)
