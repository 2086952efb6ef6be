"""The mapper that starts from the mappings of similar problems."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from map_space_helpers import spaces
from mapper_helpers import Recorder

from maestro_env.accelerators.hardware import PRESETS, hardware_distance
from maestro_env.evaluation.cost_and_status import OK
from maestro_env.evaluation.objectives import find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.evaluation.transfer import KEEPS, Mapped, distance, layer_distance, transfer
from maestro_env.mappers.library import Library, LibraryConfig, LibraryMapper, known_library
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.optimum.known import known_optimum
from maestro_env.workloads.finding import find_layer
from maestro_env.workloads.layer import Layer

EDP, LATENCY = (find_objective(name).factors for name in ("edp", "latency"))
EDGE = PRESETS["edge"]


def solved(layer: Layer, objective: str = "edp") -> tuple[Mapped, tuple[str, ...]]:
    problem = Problem(MapSpace(layer, EDGE))
    known = known_optimum(problem, objective)
    assert known is not None
    return Mapped(problem, known.point), find_objective(objective).factors


def found(library: Library, target: Problem, budget: int, **settings: object) -> Recorder:
    recorder = Recorder(target, "edp", budget)
    mapper = LibraryMapper(replace(LibraryConfig(), **settings), library)
    mapper.search(recorder, budget, np.random.default_rng(0))
    return recorder


@given(st.lists(spaces().map(Problem), min_size=1, max_size=5), spaces().map(Problem))
def test_distances_are_those_of_single_problems(problems: list[Problem], target: Problem) -> None:
    vectors = [np.zeros(len(each.space.sizes), dtype=np.int32) for each in problems]
    library = Library((Mapped(*each), EDP) for each in zip(problems, vectors, strict=True))
    layers, machines = library.distances(target)
    expected = [layer_distance(target.layer, each.layer) for each in problems]
    np.testing.assert_allclose(layers, expected, rtol=1e-12, atol=1e-12)
    expected = [hardware_distance(target.hardware, each.hardware) for each in problems]
    np.testing.assert_allclose(machines, expected, rtol=1e-12, atol=1e-12)


@given(st.lists(spaces().map(Problem), min_size=1, max_size=5), spaces().map(Problem))
def test_all_problems_are_near_once_and_the_nearest_is_first(
    problems: list[Problem], target: Problem
) -> None:
    vectors = [np.zeros(len(each.space.sizes), dtype=np.int32) for each in problems]
    mapped = [Mapped(*each) for each in zip(problems, vectors, strict=True)]
    near = list(Library((each, EDP) for each in mapped).near(target, EDP))
    apart = [distance(target, each.problem) for each in near]
    assert {id(each) for each in near} == {
        id(each) for each in mapped if distance(target, each.problem) > 0
    }
    assert len(near) == len({id(each) for each in near})
    assert not apart or apart[0] == pytest.approx(min(apart))


def test_only_mappings_for_the_same_objective_are_near_if_there_are_any() -> None:
    layers = [find_layer(f"resnet18_l{number}") for number in (2, 8)]
    library = Library([solved(layers[0]), solved(layers[1], "latency")])
    target = Problem(MapSpace(find_layer("resnet50_l12"), EDGE))
    for factors, layer in ((EDP, layers[0]), (LATENCY, layers[1]), (EDP[::-1], layers[0])):
        assert [each.problem.layer for each in library.near(target, factors)] == [layer]
    assert len(list(library.near(target, ("energy_nj",)))) == 2


def test_the_table_is_used_but_for_the_problem_itself() -> None:
    layer = find_layer("resnet18_l2")
    nearest = next(known_library().near(Problem(MapSpace(layer, EDGE)), EDP))
    assert (nearest.problem.layer.extents, nearest.problem.hardware) != (layer.extents, EDGE)


@pytest.mark.parametrize("keep", KEEPS)
def test_the_first_samples_are_what_the_nearest_problems_transfer(keep: str) -> None:
    layers = [find_layer(f"vgg16_l{number}") for number in (2, 4, 8)]
    library = Library(solved(layer) for layer in layers)
    target = Problem(MapSpace(find_layer("vgg16_l6"), PRESETS["unlimited"]))
    near = list(library.near(target, EDP))
    # Everything fits here, so that nothing is changed.
    expected = [transfer(each.vector, each.problem, target, keep) for each in near]
    points = np.concatenate(found(library, target, 10, keep=keep).points)
    np.testing.assert_array_equal(points[:3], expected)


def test_what_does_not_fit_is_made_to_fit_and_nothing_is_tried_twice() -> None:
    layer = find_layer("resnet50_l12")
    unlimited = Problem(MapSpace(layer, PRESETS["unlimited"]))
    vector = unlimited.space.sizes.astype(np.int32) - 1
    target = Problem(MapSpace(layer, EDGE))
    moved = transfer(vector, unlimited, target)
    assert target.score(moved[np.newaxis], find_objective("edp"))[1] != OK
    recorder = found(Library([(Mapped(unlimited, vector), EDP)]), target, 200)
    assert recorder.valid == recorder.unique == 200


def test_moves_find_what_is_better_than_all_transferred_mappings() -> None:
    library = Library([solved(find_layer("resnet18_l2"))])
    recorder = found(library, Problem(MapSpace(find_layer("resnet50_l12"), EDGE)), 200)
    assert recorder.best is not None
    assert recorder.best.value < 0.95 * recorder.trace[0][0]


def test_an_empty_library_leaves_the_moves() -> None:
    target = Problem(MapSpace(find_layer("resnet50_l12"), PRESETS["unlimited"]))
    recorder = found(Library([]), target, 50)
    assert recorder.used == 50
    assert recorder.valid
