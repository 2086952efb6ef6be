"""The objective as a plain function: the forms of a mapping, the unit cube, other libraries."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from map_space_helpers import spaces, spaces_and_points
from mapper_helpers import every_model

from maestro_env.accelerators.hardware import PRESETS, Hardware
from maestro_env.evaluation.cost_and_status import OK
from maestro_env.evaluation.objectives import find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.space import Points
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.finding import find_layer
from maestro_env.workloads.layer import Layer

EDGE = Problem(MapSpace(find_layer("resnet18_l2"), PRESETS["edge"]))


def values_of(space: MapSpace, point: Points) -> dict[str, int | str]:
    pairs = zip(space.parameters, point.tolist(), strict=True)
    return {parameter.name: parameter.values[choice] for parameter, choice in pairs}


# --- The function -------------------------------------------------------------------------------


@every_model
def test_it_is_the_objective_of_valid_mappings_in_every_form(model: str) -> None:
    problem = Problem(EDGE.space, model)
    edp = find_objective("edp")
    cost = problem.objective("edp")
    assert problem.objective(edp) == cost
    points = problem.space.sample(300, np.random.default_rng(0)) // 4
    values, status = problem.score(points, edp)
    assert 0 < np.count_nonzero(status == OK) < 300
    for point, value, code in zip(points, values.tolist(), status, strict=True):
        mapping = problem.space.decode(point)
        found = [cost(form) for form in (point, point.tolist(), values_of(problem.space, point))]
        assert [*found, cost(mapping)] == [value] * 4
        assert (cost.violation(point) == 0) == (code == OK)
        assert cost.violation(point) == cost.violation(mapping)


def test_penalties_put_valid_mappings_first_and_those_that_miss_the_most_last() -> None:
    cost = EDGE.objective("energy")
    points = EDGE.space.sample(300, np.random.default_rng(0)) // 4
    ranked = sorted(points, key=cost.penalised)
    keys = [(cost.violation(point), cost(point)) for point in ranked]
    assert keys == sorted(keys)
    assert all(math.isfinite(cost.penalised(point)) for point in points)
    assert cost.penalised(ranked[0]) == math.log10(cost(ranked[0]))


@given(spaces_and_points)
def test_values_by_name_say_the_same_as_the_vector(drawn: tuple[MapSpace, Points]) -> None:
    space, point = drawn
    named = values_of(space, point)
    np.testing.assert_array_equal(space.from_values(named), point)
    for parameter in space.parameters:
        least, most = parameter.bounds
        if parameter.kind == "parallel":
            assert (least, most) == (0, len(space.parallel_dims) - 1)
        else:
            assert least <= named[parameter.name] <= most
        assert parameter.log == (parameter.kind in ("tile", "cluster"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"l2_tile_K": 65}, "l2_tile_K = 65 is not in this space; allowed: 1 to 64"),
        ({"l2_tile_K": 2.5}, "l2_tile_K = 2.5 is not in this space; allowed: 1 to 64"),
        ({"l2_tile_K": np.array([1, 2])}, r"l2_tile_K = array\(\[1, 2\]\) is not in this space"),
        ({"l1_parallel": "R"}, "l1_parallel = 'R' is not in this space; allowed: C, K, X', Y'"),
        ({"l2_order": -1}, "l2_order = -1 is not in this space; allowed: 0 to 719"),
        ({"cluster": 4}, "unknown parameter 'cluster': did you mean cluster_size"),
        ({"cluster_size": None}, "no value of cluster_size; give one of every parameter"),
    ],
)
def test_values_outside_of_the_space_are_refused(changes: dict[str, object], message: str) -> None:
    named = {**values_of(EDGE.space, np.zeros(13, dtype=np.int32)), **changes}
    given = {name: value for name, value in named.items() if value is not None}
    with pytest.raises(ValueError, match=message):
        EDGE.objective("edp")(given)


# --- The unit cube ------------------------------------------------------------------------------


@given(spaces(), st.floats(0, 1))
def test_a_share_is_the_largest_size_up_to_its_power(space: MapSpace, share: float) -> None:
    cost = Problem(MapSpace(space.layer, space.hardware)).objective("latency")
    point = cost.from_unit([share] * len(cost.parameters))
    assert point.dtype == np.int32
    for parameter, choice in zip(cost.parameters, point.tolist(), strict=True):
        assert 0 <= choice < parameter.choices
        if parameter.log:
            real = (parameter.bounds[1] + 1) ** share
            assert parameter.values[choice] <= real * (1 + 1e-12)
            assert parameter.values[choice] + 1 >= min(real, parameter.bounds[1]) * (1 - 1e-12)
        else:
            assert abs(choice - share * parameter.choices) <= 1


def test_every_vector_is_in_the_unit_cube() -> None:
    space = MapSpace(Layer("GEMM", {"M": 3, "N": 2, "K": 1}), Hardware(num_pes=4), "paper10")
    cost = Problem(space).objective("latency")
    shares = np.linspace(0, 1, 400)
    for column, parameter in enumerate(space.parameters):
        reached = set()
        for share in shares:
            place = np.zeros(len(space.parameters))
            place[column] = share
            reached.add(int(cost.from_unit(place)[column]))
        assert reached == set(range(parameter.choices))


def test_numbers_outside_of_the_unit_cube_are_the_nearest_inside() -> None:
    cost = EDGE.objective("edp")
    low, high = cost.from_unit([-3.0] * 13), cost.from_unit([7.0] * 13)
    assert low.tolist() == [0] * 13
    assert high.tolist() == (EDGE.space.sizes - 1).tolist()


@pytest.mark.parametrize("shares", [[0.5] * 12, [math.nan] * 13, 0.5, "no", ["no"] * 13, {}])
def test_what_is_no_place_in_the_unit_cube_is_refused(shares: object) -> None:
    with pytest.raises(ValueError, match="is not a place; allowed: 13 shares, 0 to 1"):
        EDGE.objective("edp").from_unit(shares)


# --- Other libraries ----------------------------------------------------------------------------
