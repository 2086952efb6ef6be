"""Operators of evolutionary search against what they say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from map_space_helpers import spaces

from maestro_env.accelerators.hardware import PRESETS
from maestro_env.mappers.parts.operators import mutate, step, tournament, uniform_crossover
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.finding import find_layer

seeds = st.integers(0, 2**32)


def drawn(space: MapSpace, n: int, seed: int) -> np.ndarray:
    return space.sample(n, np.random.default_rng(seed))


@given(spaces(), seeds, st.floats(0, 1))
def test_a_child_has_every_parameter_from_a_parent(space: MapSpace, seed: int, rate: float) -> None:
    mothers, fathers = drawn(space, 40, seed), drawn(space, 40, seed + 1)
    children = uniform_crossover(mothers, fathers, rate, np.random.default_rng(seed))
    assert ((children == mothers) | (children == fathers)).all()


def test_crossover_happens_as_often_as_it_should() -> None:
    mothers, fathers = np.zeros((4000, 12), np.int32), np.ones((4000, 12), np.int32)
    children = uniform_crossover(mothers, fathers, 0.6, np.random.default_rng(0))
    # A mixed child is its mother all the same once in 2^12.
    assert children.any(axis=1).mean() == pytest.approx(0.6, abs=0.03)
    assert children[children.any(axis=1)].mean() == pytest.approx(0.5, abs=0.02)


@given(spaces(), seeds, st.floats(0, 1), st.floats(0, 1))
def test_a_mutant_is_in_the_space_and_changes_to_a_draw_or_a_neighbour(
    space: MapSpace, seed: int, rate: float, step_rate: float
) -> None:
    points, fresh = drawn(space, 40, seed), drawn(space, 40, seed + 1)
    mutants = mutate(points, fresh, space, rate, step_rate, np.random.default_rng(seed))
    assert ((mutants >= 0) & (mutants < space.sizes)).all()
    near = abs(mutants - points) <= np.maximum(1, space.sizes // 16)
    sizes = [parameter.kind in ("tile", "cluster") for parameter in space.parameters]
    assert ((mutants == fresh) | (mutants == points) | (near & sizes)).all()


def test_mutation_changes_one_parameter_at_least_and_as_many_as_it_should() -> None:
    space = MapSpace(find_layer("vgg16_l2"), PRESETS["unlimited"])
    points = np.zeros((4000, len(space.sizes)), np.int32)
    fresh = np.ones_like(points)
    changed = mutate(points, fresh, space, 0.0, 0.0, np.random.default_rng(0))
    assert (changed.sum(axis=1) == 1).all()
    assert set(changed.argmax(axis=1)) == set(range(len(space.sizes)))
    changed = mutate(points, fresh, space, 0.25, 0.0, np.random.default_rng(0))
    assert changed.mean() == pytest.approx(0.25 + 0.75 / len(space.sizes), abs=0.01)


@given(spaces(), seeds)
def test_a_step_moves_every_parameter_unless_it_stands_at_an_end(
    space: MapSpace, seed: int
) -> None:
    points = drawn(space, 40, seed)
    moved = step(points, space, np.random.default_rng(seed))
    assert ((moved >= 0) & (moved < space.sizes)).all()
    far = abs(moved - points)
    assert (far <= np.maximum(1, space.sizes // 16)).all()
    stayed = far == 0
    assert ((points == 0) | (points == space.sizes - 1))[stayed].all()


def test_a_tournament_of_all_is_won_by_the_best() -> None:
    points = np.arange(10, dtype=np.int32)[:, None]
    values = np.array([5.0, 3, 9, np.inf, 1, 7, 8, 2, 6, 4])
    winners = tournament(points, values, 500, 60, np.random.default_rng(0))
    # The best is missing among 60 draws once in 560 tournaments.
    assert np.mean(winners == 4) > 0.98


def test_a_tournament_of_two_prefers_the_better() -> None:
    points = np.arange(2, dtype=np.int32)[:, None]
    winners = tournament(points, np.array([2.0, 1.0]), 4000, 2, np.random.default_rng(0))
    assert np.mean(winners == 1) == pytest.approx(0.75, abs=0.03)
