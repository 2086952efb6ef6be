"""What the core does for a step of an environment, against the same in plain Python."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays, integer_dtypes, unsigned_integer_dtypes

from maestro_env import _native
from maestro_env.episode import observation
from maestro_env.errors import MapSpaceError
from maestro_env.hardware import find_hardware
from maestro_env.map_space import MapSpace
from maestro_env.problem import Problem
from maestro_env.threads import fitting_threads
from maestro_env.vector import make_vector_env
from maestro_env.workloads import find_layer

SPACE = MapSpace(find_layer("mobilenetv2_l2"), find_hardware("paper"))
SEEN = ("latency_cycles", "power_mw", "energy_nj", "area_um2")
figures = st.floats() | st.floats(0, 1e21) | st.just(math.nan)
rows = arrays(
    np.float64, st.tuples(st.integers(0, 5), st.just(len(_native.METRICS))), elements=figures
)
integers = arrays(integer_dtypes() | unsigned_integer_dtypes(), st.just((len(SPACE.sizes),)))


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


@given(rows.filter(len))
def test_a_step_names_the_figures_there_are(metrics: np.ndarray) -> None:
    row = metrics[0]
    told = {"status": "ok"}
    _native.add_figures(told, _native.METRICS, row)
    named = zip(_native.METRICS, row.tolist(), strict=True)
    assert told == {"status": "ok"} | {name: x for name, x in named if not math.isnan(x)}


def test_rows_of_another_form_are_refused() -> None:
    with pytest.raises(ValueError, match="a row of 2 figures"):
        _native.add_figures({}, ("a", "b"), np.zeros(3))
    with pytest.raises(ValueError, match="a row of 1 figures"):
        _native.add_figures({}, ("a",), np.zeros((1, 1)))
    with pytest.raises(ValueError, match="rows of figures"):
        _native.log_scaled(np.zeros(3), [0], 20)
    for column in (-1, 3):
        with pytest.raises(ValueError, match="no such column"):
            _native.log_scaled(np.zeros((1, 3)), [column], 20)


@given(integers)
def test_no_integer_wraps_into_the_range_of_a_choice(values: np.ndarray) -> None:
    fits = [0 <= value < size for value, size in zip(values.tolist(), SPACE.sizes, strict=True)]
    point = SPACE.as_point(values)
    if all(fits):
        assert point.dtype == np.int32
        assert point.tolist() == values.tolist()
        SPACE.decode(point)
    else:
        wrong = SPACE.parameters[fits.index(False)].name
        with pytest.raises(MapSpaceError, match=f"point 0: {wrong} = "):
            SPACE.decode(point)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_a_point_is_a_copy(dtype: type) -> None:
    action = np.zeros(len(SPACE.sizes), dtype)
    point = SPACE.as_point(action)
    action[:] = 1
    assert not point.any()


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
    assert info["status"].tobytes() == truth.status.tobytes()
