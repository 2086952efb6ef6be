"""What the core does for a step of an environment, against the same in plain Python."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays, integer_dtypes, unsigned_integer_dtypes
from two_levels import MODELS

from maestro_env import _native
from maestro_env.accelerators.finding import find_hardware
from maestro_env.accelerators.hardware import Hardware
from maestro_env.base.errors import MapSpaceError
from maestro_env.base.parallelism import fitting_threads
from maestro_env.environments.making import make_vector_env
from maestro_env.evaluation.cost_and_status import OK
from maestro_env.evaluation.objectives import find_objective
from maestro_env.evaluation.observations_and_rewards import observation
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.space import Points
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.finding import find_layer

SPACE = MapSpace(find_layer("mobilenetv2_l2"), find_hardware("paper"))
PROBLEM = Problem(SPACE)
EDP = find_objective("edp")
SEEN = ("latency_cycles", "power_mw", "energy_nj", "area_um2")
figures = st.floats() | st.floats(0, 1e21) | st.just(math.nan)
rows = arrays(
    np.float64, st.tuples(st.integers(0, 5), st.just(len(_native.METRICS))), elements=figures
)
integers = arrays(integer_dtypes() | unsigned_integer_dtypes(), st.just((len(SPACE.sizes),)))


def observe(vector: object) -> np.ndarray:
    """Return the vector that was observed."""
    return PROBLEM.observe(vector, EDP)[3]


def shown(figure: float) -> np.float32:
    figure = 0.0 if math.isnan(figure) else max(figure, 0.0)
    return np.float32(min(math.log10(1 + figure) / 20, 1.0))


@given(rows)
def test_an_observation_is_the_logarithm_of_four_figures(metrics: np.ndarray) -> None:
    columns = [_native.METRICS.index(name) for name in SEEN]
    expected = [[shown(row[column]) for column in columns] for row in metrics.tolist()]
    got = observation(metrics)
    assert got.dtype == np.float32
    assert got.tolist() == np.array(expected, np.float32).reshape(-1, len(SEEN)).tolist()


@pytest.mark.parametrize("shape", [(len(_native.METRICS),), (1, 3), (0, 3), (1, 1, 1)])
def test_rows_of_another_form_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="rows of metrics"):
        observation(np.zeros(shape))


def some_points(model: str) -> tuple[Problem, Points]:
    problem = Problem(SPACE, model)
    return problem, SPACE.sample(200, np.random.default_rng(0))


def points_with_and_without_figures() -> tuple[Problem, Points]:
    layer, hardware = find_layer("gemm:M=3000000,N=1000000,K=1000000"), Hardware(1_000_000)
    problem = Problem(MapSpace(layer, hardware, "paper10"), "maestro")
    points = problem.space.sample(1000, np.random.default_rng(0))
    without = np.isnan(problem.evaluate(points).metrics).all(axis=1)
    assert 1 <= np.count_nonzero(~without) <= np.count_nonzero(without)
    pairs = zip(points[~without], points[without], strict=False)
    return problem, np.array([point for pair in pairs for point in pair])


@pytest.mark.parametrize(
    "some", [partial(some_points, model) for model in MODELS] + [points_with_and_without_figures]
)
def test_one_vector_is_observed_as_a_batch_of_one(
    some: Callable[[], tuple[Problem, Points]],
) -> None:
    problem, points = some()
    rows = problem.evaluate(points)
    for point, row, status in zip(points, rows.metrics, rows.status, strict=True):
        seen, value, code, vector, figures = problem.observe(point, EDP)
        assert seen.tolist() == observation(row[np.newaxis])[0].tolist()
        assert (code, vector.dtype, vector.tolist()) == (status, np.int32, point.tolist())
        named = dict(zip(_native.METRICS, row.tolist(), strict=True))
        assert value == (EDP.of(named) if status == OK else math.inf)
        np.testing.assert_array_equal(figures, row)


@given(integers)
def test_no_integer_wraps_into_the_range_of_a_choice(values: np.ndarray) -> None:
    wrong = [
        f"point 0: {parameter.name} = {value} is not"
        for parameter, value in zip(SPACE.parameters, values.tolist(), strict=True)
        if not 0 <= value < parameter.choices
    ]
    if not wrong:
        for point in (observe(values), SPACE.as_points([values], 1)[0]):
            assert point.dtype == np.int32
            assert point.tolist() == values.tolist()
        SPACE.decode(values)
        return
    for refuse in (
        observe,
        SPACE.decode,
        lambda values: PROBLEM.evaluate(SPACE.as_points([values], 1)),
    ):
        with pytest.raises(MapSpaceError, match="|".join(wrong)):
            refuse(values)


@given(st.data())
def test_integers_within_range_come_back(data: st.DataObject) -> None:
    values = [data.draw(st.integers(0, int(size) - 1)) for size in SPACE.sizes]
    for dtype in (np.int32, np.int64, np.uint16, np.dtype(">i8")):
        array = np.array(values, dtype)
        misaligned = np.frombuffer(b"0" + array.tobytes(), dtype, offset=1)
        for action in (array, np.repeat(array, 2)[::2], misaligned):
            assert observe(action).tolist() == values
    assert observe(values).tolist() == values


@pytest.mark.parametrize("action", [[[0], [0, 0]], "no", None, {}, [2**70] * 13, 0])
def test_what_is_no_vector_is_refused(action: object) -> None:
    for refuse in (observe, SPACE.decode, lambda action: SPACE.as_points([action], 1)):
        with pytest.raises(
            MapSpaceError, match=r"13 integers, got|integers of shape \(1, 13\), got"
        ):
            refuse(action)


@pytest.mark.parametrize(
    ("value", "dtype"), [(2**64 - 1, np.uint64), (2**40, np.int64), (-(2**40), np.int64)]
)
def test_what_no_choice_can_be_is_named(value: int, dtype: type) -> None:
    with pytest.raises(MapSpaceError, match=f"point 0: l2_order = {value} is not in 0..719"):
        observe(np.full(13, value, dtype))


class Unwilling:
    """Raises an error when it is to become an array."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        raise self.error


def test_why_numpy_refuses_is_said() -> None:
    with pytest.raises(MapSpaceError, match="13 integers, got what is no array: use detach"):
        observe(Unwilling(RuntimeError("use detach")))


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_what_is_no_fault_of_an_action_is_passed_on(error: type[BaseException]) -> None:
    for refuse in (observe, SPACE.decode, lambda action: SPACE.as_points(action, 1)):
        with pytest.raises(error):
            refuse(Unwilling(error()))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_a_point_is_a_copy(dtype: type) -> None:
    action = np.zeros(len(SPACE.sizes), dtype)
    point, points = observe(action), SPACE.as_points([action], 1)
    action[:] = 1
    assert not point.any()
    assert not points.any()


@pytest.mark.parametrize(
    ("processors", "points", "threads"),
    [(2, 1, 1), (2, 1000, 1), (2, 2048, 2), (2, 4096, 2), (64, 4096, 4), (1, 2**20, 1)],
)
def test_threads_fit_the_batch_and_the_machine(
    monkeypatch: pytest.MonkeyPatch, processors: int, points: int, threads: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(processors)), raising=False)
    assert fitting_threads(points) == threads


@pytest.mark.parametrize(("asked", "taken"), [(None, 3), (1, 1), (2, 2)])
def test_many_copies_take_threads_unless_told(
    monkeypatch: pytest.MonkeyPatch, asked: int | None, taken: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    copies, seen = 3072, []
    env = make_vector_env(copies, threads=asked)
    actions = SPACE.sample(copies, np.random.default_rng(0))
    evaluate = Problem.evaluate

    def watched(problem: Problem, points: np.ndarray, threads: int = 1) -> object:
        seen.append(threads)
        return evaluate(problem, points, threads)

    monkeypatch.setattr(Problem, "evaluate", watched)
    truth = evaluate(env.evaluator.problem, actions)
    observations, *_, info = env.step(actions)
    assert seen == [taken]
    assert observations.tobytes() == observation(truth.metrics).tobytes()
    assert info["status"].tolist() == truth.status.tolist()
