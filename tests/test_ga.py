"""The plain genetic algorithm's settings do what they say."""

from __future__ import annotations

import numpy as np
import pytest

from maestro_env.accelerators.hardware import PRESETS
from maestro_env.mappers import make_mapper
from maestro_env.mappers.base import AskTellMapper
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.finding import find_layer

SPACE = MapSpace(find_layer("vgg16_l2"), PRESETS["unlimited"])
PARENTS = SPACE.sample(100, np.random.default_rng(7))


def bred(settings: str) -> tuple[AskTellMapper, np.ndarray]:
    """A mapper told of 100 parents, the first the best, and its next generation."""
    mapper = make_mapper(f"ga:{settings}")
    assert isinstance(mapper, AskTellMapper)
    mapper.start(SPACE, np.random.default_rng(0))
    mapper.tell(PARENTS, np.arange(100.0))
    return mapper, mapper.ask(5000)


def distances(children: np.ndarray, parents: np.ndarray) -> np.ndarray:
    """Parameters in which each child differs from the nearest of the parents."""
    return (children[:, None] != parents[None]).sum(axis=2).min(axis=1)


@pytest.mark.parametrize(("entrants", "rank"), [(1, 49.5), (3, 24.5), (9, 9.5), (1000, 0.0)])
def test_the_larger_a_tournament_the_better_the_parents(entrants: int, rank: float) -> None:
    settings = f"population=2000:elites=0:crossover_rate=0:mutation_rate=0:tournament={entrants}"
    _, children = bred(settings)
    ranks = (children[:, None] != PARENTS[None]).sum(axis=2).argmin(axis=1)
    # The least of so many ranks from 0 to 99, drawn with replacement.
    assert len(children) == 2000
    assert ranks.mean() == pytest.approx(rank, abs=2)


def test_elites_are_parents_again_and_are_not_asked_for() -> None:
    mapper, children = bred("elites=10:crossover_rate=0:mutation_rate=0:tournament=1000")
    assert len(children) == 90
    mapper.tell(children, np.full(90, 1000.0))
    assert (distances(mapper.ask(5000), PARENTS[:1]) <= 1).all()


def test_crossover_mixes_as_often_as_it_should() -> None:
    _, children = bred("elites=0:crossover_rate=1:mutation_rate=0")
    assert np.mean(distances(children, PARENTS) > 1) > 0.7
    _, children = bred("elites=0:crossover_rate=0:mutation_rate=0")
    assert (distances(children, PARENTS) <= 1).all()
