"""Masks against brute force, and what is drawn from them."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from map_space_helpers import layers
from masked import invalid_samples, main, problems, zoo
from two_levels import MODELS

from maestro_env.accelerators.finding import find_hardware
from maestro_env.accelerators.hardware import Hardware
from maestro_env.base.errors import ArgumentTypeError, MapSpaceError
from maestro_env.evaluation.cost_and_status import OK
from maestro_env.evaluation.masks import Masks
from maestro_env.evaluation.models import find_model
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.space import TILES
from maestro_env.mapspace.two_level_space import SCHEMAS, MapSpace
from maestro_env.workloads.finding import find_layer
from maestro_env.workloads.layer import Layer

# Of parallel dimensions and sizes, so that every prefix can be tried.
_MOST_VECTORS = 1000
# Many drawn problems are larger, or no model of theirs.
_MANY_ARE_LEFT_OUT = [HealthCheck.filter_too_much]


def problem(layer: str, hardware: str = "edge", model: str = "exact") -> Problem:
    return Problem(MapSpace(find_layer(layer), find_hardware(hardware)), model)


@st.composite
def problems_of(draw: st.DrawFn, layer: Layer, model: str, largest: int) -> Problem:
    machine = Hardware(
        num_pes=draw(st.integers(1, 9)),
        l1_bytes=draw(st.integers(6, largest)),
        l2_bytes=draw(st.integers(3, 24) | st.integers(3, 2 * largest)),
    )
    space = MapSpace(
        layer, machine, draw(st.sampled_from(list(SCHEMAS))), draw(st.sampled_from(TILES))
    )
    assume("windows" in find_model(model).abilities or not space.cuts_windows)
    return Problem(space, model)


@st.composite
def small_problems(draw: st.DrawFn, model: str) -> Problem:
    size = st.integers(1, 3)
    operator = draw(st.sampled_from(["GEMM", "CONV", "DSCONV", "NGCONV"]))
    if operator == "GEMM":
        layer = Layer("GEMM", {dim: draw(st.integers(1, 6)) for dim in "MNK"})
    else:
        extents = {dim: draw(size) for dim in {"DSCONV": "C", "NGCONV": "GKC"}.get(operator, "KC")}
        for axis, window in ("YR", "XS"):
            extents[window] = draw(size)
            extents[axis] = extents[window] + draw(st.integers(0, 4))
        layer = Layer(operator, extents, (draw(size), draw(size)))
    task = draw(problems_of(layer, model, 60))
    assume(math.prod(choices(task.space)) <= _MOST_VECTORS)
    return task


def choices(space: MapSpace) -> list[int]:
    """Return the numbers of choices of all parameters; all orders count as one."""
    return [1 if each.kind == "order" else each.choices for each in space.parameters]


def valid_vectors(task: Problem) -> np.ndarray:
    """Evaluate all vectors but for their orders, which are random: bool[choices]."""
    shape = choices(task.space)
    points = task.space.sample(math.prod(shape), np.random.default_rng(0))
    all_points = np.stack(np.unravel_index(np.arange(len(points)), shape), axis=1)
    points = np.where(np.equal(shape, task.space.sizes), all_points, points).astype(np.int32)
    return (task.evaluate(points).status == OK).reshape(shape)


def with_orders(space: MapSpace, chosen: tuple[int, ...], rng: np.random.Generator) -> list[int]:
    """Return a prefix whose orders are random."""
    orders = [each.kind == "order" for each in space.parameters]
    return [
        int(rng.integers(size)) if order else choice
        for choice, order, size in zip(chosen, orders, space.sizes, strict=False)
    ]


def valid_choices(valid: np.ndarray, chosen: tuple[int, ...]) -> np.ndarray:
    """Return which choices of the next parameter some valid vector makes after these."""
    after = valid[chosen]
    return after.any(axis=tuple(range(1, after.ndim)))


def all_prefixes(valid: np.ndarray) -> list[tuple[int, ...]]:
    return [each for k in range(valid.ndim) for each in product(*map(range, valid.shape[:k]))]


@given(small_problems("exact"))
def test_a_choice_is_allowed_exactly_where_a_valid_vector_goes_on_from_it(task: Problem) -> None:
    assert_exact(task)


@pytest.mark.slow
@settings(max_examples=1000)
@given(small_problems("exact"))
def test_masks_of_many_small_spaces_are_those_of_all_their_vectors(task: Problem) -> None:
    assert_exact(task)


def assert_exact(task: Problem) -> None:
    valid, masks, rng = valid_vectors(task), Masks(task), np.random.default_rng(0)
    assert masks.complete
    for chosen in all_prefixes(valid):
        allowed = masks.allowed(with_orders(task.space, chosen, rng))
        assert (allowed == valid_choices(valid, chosen)).all(), chosen


@settings(suppress_health_check=_MANY_ARE_LEFT_OUT)
@given(st.sampled_from(list(MODELS)).flatmap(small_problems))
def test_no_valid_vector_is_forbidden(task: Problem) -> None:
    assert_sound(task)


@pytest.mark.slow
@settings(max_examples=1000, suppress_health_check=_MANY_ARE_LEFT_OUT)
@given(small_problems("maestro"))
def test_no_valid_vector_of_many_small_spaces_is_forbidden(task: Problem) -> None:
    assert_sound(task)


def assert_sound(task: Problem) -> None:
    valid, masks, rng = valid_vectors(task), Masks(task), np.random.default_rng(0)
    assert masks.complete == (task.model == "exact")
    for chosen in all_prefixes(valid):
        allowed = masks.allowed(with_orders(task.space, chosen, rng))
        assert (allowed >= valid_choices(valid, chosen)).all(), chosen


@settings(suppress_health_check=_MANY_ARE_LEFT_OUT)
@given(st.sampled_from(list(MODELS)).flatmap(small_problems))
def test_independent_masks_forbid_what_no_valid_vector_chooses(task: Problem) -> None:
    valid, masks = valid_vectors(task), Masks(task)
    parts = np.split(masks.independent(), np.cumsum(task.space.sizes)[:-1])
    for column, part in enumerate(parts):
        others = tuple(each for each in range(valid.ndim) if each != column)
        chosen = valid.any(axis=others)
        assert (part == chosen if masks.complete else part >= chosen).all()


@given(layers().flatmap(lambda layer: problems_of(layer, "exact", 4000)))
def test_samples_of_complete_masks_are_valid(task: Problem) -> None:
    masks = Masks(task)
    if masks.allowed([]).any():
        assert invalid_samples(masks, 200, np.random.default_rng(0)) == 0
    else:
        points = task.space.sample(200, np.random.default_rng(0))
        assert (task.evaluate(points).status != OK).all()
        assert not masks.independent().any()
        with pytest.raises(MapSpaceError, match=r"no mapping (fits: |is valid)"):
            masks.sample(1, np.random.default_rng(0))


@pytest.mark.parametrize("name", ["resnet18_l2", "mobilenetv2_l2", "gpt2_l4"])
def test_samples_of_the_zoo_are_valid_on_every_preset(name: str) -> None:
    for task in problems([find_layer(name)]):
        assert invalid_samples(Masks(task), 500, np.random.default_rng(0)) == 0


@pytest.mark.slow
def test_ten_million_samples_of_the_zoo_are_valid() -> None:
    main()


def test_layers_of_the_zoo_are_drawn_from_all_of_it() -> None:
    assert len(zoo(50)) == 50
    assert {each.operator for each in zoo(20)} == {"CONV", "DSCONV", "GEMM"}


def test_samples_are_uniform_over_allowed_choices_parameter_by_parameter() -> None:
    layer = Layer("GEMM", {"M": 3, "N": 1, "K": 2})
    machine = Hardware(num_pes=4, l1_bytes=22, l2_bytes=16)
    task = Problem(MapSpace(layer, machine, tiles="divisors"))
    valid, samples = valid_vectors(task), 100_000
    points = Masks(task).sample(samples, np.random.default_rng(0))
    orders = np.not_equal(choices(task.space), task.space.sizes)
    vectors, counts = np.unique(np.where(orders, 0, points), axis=0, return_counts=True)
    drawn = dict(zip(map(tuple, vectors.tolist()), counts.tolist(), strict=True))
    assert drawn.keys() == set(map(tuple, np.argwhere(valid).tolist()))
    assert 10 < len(drawn) < valid.size
    for vector, count in drawn.items():
        left = [valid_choices(valid, vector[:k]).sum() for k in range(valid.ndim)]
        expected = samples / math.prod(left)
        assert abs(count - expected) < 6 * math.sqrt(expected)
    for column in np.flatnonzero(orders):
        counts = np.bincount(points[:, column], minlength=6)
        assert abs(counts - samples / 6).max() < 6 * math.sqrt(samples / 6)


def test_samples_depend_on_the_seed_alone() -> None:
    masks = Masks(problem("resnet18_l2"))
    many = masks.sample(40_000, np.random.default_rng(3))
    few = Masks(problem("resnet18_l2")).sample(10, np.random.default_rng(3))
    assert many.dtype == np.int32
    assert many[:10].tolist() == few.tolist()
    assert masks.sample(0, np.random.default_rng(3)).shape == (0, 13)


def test_masks_of_maestro_leave_few_mappings_that_exceed_a_buffer() -> None:
    masks = Masks(problem("resnet18_l2", model="maestro"))
    points = masks.sample(5000, np.random.default_rng(0))
    valid = np.mean(masks.problem.evaluate(points).status == OK)
    free = masks.problem.space.sample(5000, np.random.default_rng(0))
    assert np.mean(masks.problem.evaluate(free).status == OK) < 0.01
    assert valid > 0.5


@pytest.mark.parametrize("model", MODELS)
def test_layers_too_large_to_count_and_operators_without_figures(model: str) -> None:
    transposed = replace(find_layer("resnet18_l2"), operator="TRCONV")
    huge = find_layer("gemm:M=1000000,N=1000000,K=1000000")
    for layer in (transposed, huge):
        masks = Masks(Problem(MapSpace(layer, find_hardware("unlimited")), model))
        points = masks.problem.space.sample(200, np.random.default_rng(0))
        valid = masks.problem.evaluate(points).status == OK
        assert masks.allowed([]).any() == (model == "maestro")
        assert not (valid.any() and model == "exact")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([720], r"l2_order = 720 is not in 0\.\.719"),
        ([0, -1], r"l2_parallel = -1 is not in 0\.\.3"),
        ([0] * 13, "allowed: a list of at most 12 integers"),
        ([[0]], "allowed: a list of at most 12 integers"),
        ([0.0], r"a prefix is \[0.0\]; allowed: a list of at most 12 integers"),
        ([[0], [0, 1]], "allowed: a list of at most 12 integers"),
        (None, "a prefix is None; allowed"),
        ("abc", "a prefix is 'abc'; allowed"),
        ([2**70], "allowed: a list of at most 12 integers"),
    ],
)
def test_what_is_no_prefix_is_refused(wrong: object, message: str) -> None:
    with pytest.raises(MapSpaceError, match=message):
        Masks(problem("resnet18_l2")).allowed(wrong)


def test_what_is_no_problem_and_no_number_is_refused() -> None:
    task = problem("resnet18_l2")
    with pytest.raises(ArgumentTypeError, match=r"problem is .* such as a Problem"):
        Masks(task.space)
    with pytest.raises(MapSpaceError, match="n is -1; allowed: integers from 0 to"):
        Masks(task).sample(-1, np.random.default_rng(0))
